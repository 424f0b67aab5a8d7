// The folder is locked before its contents are read. An appointment is unpacked in a fixed order,
// the voter's memory last, so that file says that all others are there; the appointment is removed
// durably only after that. A folder with a ledger but without the memory has lost its votes and is
// refused, whereas one with neither is an unpacking that a crash interrupted and is repeated. The
// ticket in a voter's settings is checked against run and key at every start.
#include "project_server/backbone/run_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/backbone/voter_memory.hpp"
#include "project_server/settings.hpp"

namespace dedloc::backbone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFile = "run.json";
constexpr const char* kKey = "backbone.key";
constexpr const char* kSettings = "voter.json";

/// Nothing if the file cannot be read: a backbone may run on a machine without the project's key.
std::optional<KeyPair> find_project_key(const fs::path& file, const PeerKey& expected) {
    if (::access(file.c_str(), R_OK) != 0) return std::nullopt;
    KeyPair key = platform::read_key(file);
    if (key.public_key() == expected) return key;
    log_warning("{} is not the project's key that run.json names: not used", file.string());
    return std::nullopt;
}

RunFolder read_folder(const fs::path& folder, std::unique_ptr<platform::FolderLock> lock) {
    formats::RunFile run = formats::parse_run_file(platform::read_text(folder / kRunFile));
    const RunId id = formats::run_id(run);
    return {.folder = folder,
            .lock = std::move(lock),
            .run = std::move(run),
            .id = id,
            .key = platform::read_key(folder / kKey)};
}

/// Whether the appointment may be unpacked into the folder; false if that has been done already.
bool must_be_unpacked(const fs::path& folder, const Appointment& appointment) {
    if (fs::is_empty(folder)) return true;
    const std::string name = folder.string();
    if (!fs::exists(folder / kRunFile)) {
        throw InputError(name + " is neither empty nor a voter's folder");
    }
    const auto run = formats::parse_run_file(platform::read_text(folder / kRunFile));
    if (formats::run_id(run) != formats::run_id(appointment.run)) {
        throw InputError(
            fmt::format("{} is the folder of a voter of the run {} ({}), and the "
                        "appointment is for {} ({})",
                        name, run.name, formats::run_id(run).brief(), appointment.run.name,
                        formats::run_id(appointment.run).brief()));
    }
    const PeerKey key = appointment.key.public_key();
    if (fs::exists(folder / kKey)) {
        const PeerKey there = platform::read_key(folder / kKey).public_key();
        if (there != key) {
            throw InputError(
                fmt::format("{} is the folder of the voter {}, and the appointment "
                            "is for {}: give each voter a folder of its own",
                            name, there.brief(), key.brief()));
        }
    }
    if (fs::exists(folder / "voter")) return false;
    if (!fs::exists(folder / "ledger")) return true;  // a crash interrupted an earlier unpack()
    throw InputError(
        fmt::format("{} has a ledger, but the memory of the voter {} is lost: let "
                    "the project dismiss this key and appoint a new one",
                    name, key.brief()));
}

void unpack(const fs::path& folder, const Appointment& appointment) {
    platform::replace_file(folder / kRunFile, formats::write_run_file(appointment.run));
    platform::write_key(folder / kKey, appointment.key);
    platform::replace_file(folder / kSettings, write_voter_settings(appointment.settings));
    write_voter_memory(folder / "voter", first_memory(appointment.settings.generation, false));
}

void remove_durably(const fs::path& file) {
    std::error_code error;
    fs::remove(file, error);
    if (error) {
        throw IoError(
            fmt::format("cannot remove {}: {}; remove it and start without --voter, "
                        "because a second process with its key would vote twice",
                        file.string(), error.message()));
    }
    platform::sync_folder_of(file);
}

/// Unpacks the appointment into the folder and removes its file. Requires the folder's lock.
void take_in(const fs::path& folder, const fs::path& file) {
    if (!fs::exists(file)) {
        if (!fs::exists(folder / kSettings)) {
            throw InputError(fmt::format("there is no file {}, and {} is no voter's folder",
                                         file.string(), folder.string()));
        }
        log_info("{} was used at an earlier start: {} has all its contents", file.string(),
                 folder.string());
        return;
    }
    const auto appointment = read_appointment(platform::read_text(file), file.string());
    if (must_be_unpacked(folder, appointment)) unpack(folder, appointment);
    remove_durably(file);
    log_info(
        "{} was unpacked into {} and removed, because a second process with its key would "
        "vote twice; from now on --folder is enough",
        file.string(), folder.string());
}

}  // namespace

RunFolder read_run_folder(const fs::path& project, const std::string& run_name) {
    const auto state = server::state_folder(fs::absolute(project));
    const auto folder = state / "runs" / run_name;
    if (!fs::exists(folder / kRunFile)) {
        throw InputError(
            fmt::format("The project {} has no run \"{}\".", project.string(), run_name));
    }
    RunFolder run = read_folder(folder, std::make_unique<platform::FolderLock>(folder));
    if (!run.is_own_backbone()) {
        throw InputError(
            fmt::format("{} is not the key that run.json names.", (folder / kKey).string()));
    }
    run.project_key = find_project_key(state / "keys/project.key", run.run.project_key);
    return run;
}

RunFolder open_voter_folder(const fs::path& folder, const std::optional<fs::path>& appointment) {
    const fs::path whole = fs::absolute(folder);
    if (appointment && fs::exists(*appointment)) {
        std::error_code error;
        fs::create_directories(whole, error);
        if (error) {
            throw IoError(fmt::format("cannot make {}: {}", whole.string(), error.message()));
        }
    }
    if (!fs::is_directory(whole)) {
        throw InputError(appointment ? fmt::format("there is no file {}, and no folder {}",
                                                   appointment->string(), whole.string())
                                     : fmt::format("there is no folder {}", whole.string()));
    }
    auto lock = std::make_unique<platform::FolderLock>(whole);
    if (appointment) take_in(whole, *appointment);
    if (!fs::exists(whole / kSettings)) {
        throw InputError(whole.string() +
                         " is no voter's folder: the first start needs --voter with the file from "
                         "dedloc run appoint");
    }
    RunFolder run = read_folder(whole, std::move(lock));
    const fs::path settings = whole / kSettings;
    run.settings = read_voter_settings(platform::read_text(settings), settings.string());
    check_voter_settings(*run.settings, run.run, run.key.public_key(), settings.string());
    return run;
}

}  // namespace dedloc::backbone
