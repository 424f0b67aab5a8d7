#include "project_server/cli/run_control.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/folder_lock.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/backbone/pause_file.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using control::Command;
using control::Outcome;

/// A backbone that starts holds its folder before it answers.
constexpr auto kStartLimit = 10s;
constexpr auto kRetry = 100ms;
constexpr auto kCheckpointLimit = 5min;
constexpr auto kPictureLimit = 2s;

/// Whether the folder is ours; false while a backbone works in it.
std::unique_ptr<platform::FolderLock> lock_of(const fs::path& folder) {
    try {
        return std::make_unique<platform::FolderLock>(folder);
    } catch (const IoError&) {
        return nullptr;
    }
}

std::optional<SignedPause> last_pause(const RunFiles& files) {
    return backbone::read_pause(files.pause(), files.id, files.run.project_key);
}

}  // namespace

bool set_paused(const fs::path& project, const std::string& run, bool is_paused) {
    RunHistory history{read_run_files(project, run)};
    const auto& folder = history.files().folder;
    const control::Request request{.command = is_paused ? Command::kPause : Command::kResume};
    const auto until = std::chrono::steady_clock::now() + kStartLimit;
    for (;;) {
        const auto answer = control::ask(folder, request);
        if (answer.outcome == Outcome::kAnswered) {
            if (!answer.reply.is_done) throw InputError(answer.reply.note);
            return true;
        }
        if (const auto lock = lock_of(folder)) {
            history.update();
            if (!history.final_digest().empty()) {
                throw InputError(fmt::format("the run {} is finished", run));
            }
            const RunFiles& files = history.files();
            const KeyPair signer = platform::read_key(
                server::state_folder(existing_project(project)) / "keys/project.key");
            const auto next = backbone::next_pause(last_pause(files), is_paused, files.id, signer);
            if (next) backbone::write_pause(files.pause(), *next);
            return false;
        }
        if (std::chrono::steady_clock::now() >= until) {
            throw IoError(
                fmt::format("the backbone of the run {} does not answer: repeat the command", run));
        }
        std::this_thread::sleep_for(kRetry);
    }
}

std::optional<std::uint64_t> checkpoint_now(const fs::path& project, const std::string& run) {
    const auto answer = control::ask(read_run_files(project, run).folder,
                                     {.command = Command::kCheckpoint}, kCheckpointLimit);
    if (answer.outcome == Outcome::kUnknown) {
        throw IoError(fmt::format("the backbone of the run {} does not answer", run));
    }
    return answer.reply.step;
}

bool tell_backbone(const fs::path& project, const std::string& run,
                   const control::Request& request) {
    const auto answer = control::ask(read_run_files(project, run).folder, request);
    return answer.outcome == Outcome::kAnswered && answer.reply.is_done;
}

std::size_t tell_backbones(const fs::path& project, const control::Request& request) {
    std::size_t count = 0;
    const auto runs = server::state_folder(existing_project(project)) / "runs";
    if (!fs::exists(runs)) return 0;
    for (const auto& entry : fs::directory_iterator{runs}) {
        if (!fs::exists(entry.path() / "run.json")) continue;
        const auto answer = control::ask(entry.path(), request);
        const auto name = entry.path().filename().string();
        if (answer.outcome == Outcome::kUnknown) {
            throw IoError(fmt::format(
                "the backbone of the run {} does not answer: repeat the command", name));
        }
        if (answer.outcome == Outcome::kAbsent) continue;
        if (!answer.reply.is_done) throw IoError(fmt::format("{}: {}", name, answer.reply.note));
        ++count;
    }
    return count;
}

RunStatus status_of(const RunHistory& history, const control::Snapshot* picture) {
    const RunFiles& files = history.files();
    RunStatus status{.name = files.run.name,
                     .state = "running",
                     .steps = files.run.steps,
                     .lines = history.lines(),
                     .final_digest = history.final_digest(),
                     .held_out = {}};
    if (!history.final_digest().empty()) {
        status.state = "finished";
    } else if (picture != nullptr) {
        status.state = name_of(picture->state);
    } else if (backbone::is_paused(last_pause(files))) {
        status.state = "paused";
    }
    if (picture == nullptr) return status;
    status.is_live = true;
    status.peers = static_cast<int>(picture->progress.trainers);
    status.samples_per_second = picture->progress.samples_per_second;
    status.samples = picture->progress.samples;
    status.target_batch = picture->target_batch;
    return status;
}

RunStatus present_status(const RunFiles& files) {
    RunHistory history{files};
    const auto answer =
        control::ask(history.files().folder, {.command = Command::kSnapshot}, kPictureLimit);
    history.update();
    const bool has_picture = answer.outcome == Outcome::kAnswered && answer.reply.snapshot;
    return status_of(history, has_picture ? &*answer.reply.snapshot : nullptr);
}

}  // namespace dedloc::cli
