// The files that volunteers' clients download, and those that they have uploaded.
#include <config.h>

#include <fmt/format.h>
#include <sched_util_basic.h>

#include <array>
#include <map>
#include <string>

#include "peer/base/error.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/publishing/code_sign_keys.hpp"
#include "project_server/publishing/gzip_file.hpp"
#include "project_server/publishing/key_change.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/job_documents.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

constexpr int kRowsAtOnce = 200;
constexpr std::size_t kMaxText = 4'096;

/// The place of a file in BOINC's tree of folders.
fs::path place_of(const fs::path& root, int fanout, const std::string& name) {
    std::array<char, 4096> path{};
    if (dir_hier_path(name.c_str(), root.c_str(), fanout, path.data(), false) != 0) {
        throw IoError(fmt::format("cannot compute the place of {} in {}", name, root.string()));
    }
    return path.data();
}

/// Whether a text from the database is a name of one file.
bool is_plain(const std::string& name) {
    return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

std::string value_of(std::string_view element, std::string_view name) {
    const auto found = server::find_element(element, name);
    return found ? server::text_value(found->body, kMaxText) : std::string{};
}

/// A file as a row describes it.
struct Described {
    std::string bytes;             ///< its size
    std::string signature;         ///< empty: none
    std::string md5;               ///< empty: none
    std::string compressed_bytes;  ///< size of the compressed copy; empty: none
};
using Files = std::map<std::string, Described>;

/// Adds the <file_info> elements of a row's XML.
void describe(std::string_view xml, Files& files) {
    server::XmlReader reader{xml};
    while (const auto element = reader.next()) {
        if (element->name != "file_info") continue;
        const auto name = value_of(element->body, "name");
        if (!is_plain(name)) continue;
        files[name] = {.bytes = value_of(element->body, "nbytes"),
                       .signature = value_of(element->body, "file_signature"),
                       .md5 = value_of(element->body, "md5_cksum"),
                       .compressed_bytes = value_of(element->body, "gzipped_nbytes")};
    }
}

/// Empty: the file is there, with the size, signature and checksum that the row gives.
std::string fault_of(const fs::path& path, const Described& file, const server::VerifyingKey* key,
                     bool is_quick) {
    std::error_code absent;
    const auto bytes = fs::file_size(path, absent);
    if (absent) return "is absent";
    if (!file.bytes.empty() && file.bytes != std::to_string(bytes)) {
        return fmt::format("has {} bytes, not {}", bytes, file.bytes);
    }
    if (is_quick) return {};
    if (key != nullptr && !key->verifies_file(path, file.signature)) {
        return "is not signed by the project's code_sign key";
    }
    if (!file.md5.empty() && server::md5_of_file(path) != file.md5) return "is altered";
    return {};
}

/// The same of the compressed copy, which clients download.
std::string fault_of_copy(const fs::path& path, const Described& file, bool is_quick) {
    std::error_code absent;
    const auto bytes = fs::file_size(path, absent);
    if (absent) return "is absent";
    if (file.compressed_bytes != std::to_string(bytes)) {
        return fmt::format("has {} bytes, not {}", bytes, file.compressed_bytes);
    }
    if (!is_quick && !server::is_whole_gzip(path)) return "is damaged";
    return {};
}

Files app_files(server::Database& database) {
    Files files;
    for (const auto& row : database.query(fmt::format(
             "select v.xml_doc from app_version v join app a on a.id = v.appid where a.name in {} "
             "and v.deprecated = 0",
             server::kAppsInSql))) {
        describe(row.text("xml_doc"), files);
    }
    return files;
}

/// Input files of jobs that a volunteer may still get or has.
Files job_files(server::Database& database) {
    Files files;
    for (std::int64_t last = 0;;) {
        const auto rows = database.query(
            fmt::format("select w.id, w.xml_doc from workunit w join app a on a.id = w.appid where "
                        "a.name in {} and w.assimilate_state = ? and w.error_mask = 0 and "
                        "w.id > ? order by w.id limit ?",
                        server::kAppsInSql),
            {server::AssimilateState::kInit, last, kRowsAtOnce});
        for (const auto& row : rows) {
            last = row.integer("id");
            describe(row.text("xml_doc"), files);
        }
        if (rows.size() < kRowsAtOnce) return files;
    }
}

/// The key by which the versions are signed is that in keys/, and former ones lead to it.
void check_signing_key(const server::ProjectConfig& config, const server::CodeSignKeys& keys,
                       Findings& findings) {
    const auto file = config.key_directory / "code_sign_public";
    const bool is_changing = fs::exists(config.key_directory / server::kNextKeys);
    if (!is_changing && server::read_public_key_text(file) != keys.present()) {
        findings.bad(
            fmt::format("{} is not the key by which the app versions are signed", file.string()),
            "put back keys/ from the backup of the same time as the database");
    }
    for (const std::string& name : keys.dead_ends()) {
        findings.warning(
            fmt::format("no signature leads from {} to the present key",
                        (config.key_directory / name).string()),
            "put back keys/ from a backup; else clients that know only this key get no tasks");
    }
}

}  // namespace

void check_downloads(const Subject& subject, server::Database& database, Findings& findings) {
    const server::ProjectConfig& config = subject.config;
    const server::CodeSignKeys keys{config.key_directory,
                                    server::present_key(database, config.key_directory)};
    check_signing_key(config, keys, findings);
    const server::VerifyingKey key{keys.present(), "the project's key"};
    const Files apps = app_files(database);
    for (const auto& [name, file] : apps) {
        const auto path = config.download_directory / name;
        const auto report = [&](const fs::path& place, const std::string& fault) {
            if (fault.empty()) return;
            findings.bad(fmt::format("the app's file {} {}", place.string(), fault),
                         "put it back from a backup, or publish a higher version (dedloc app add)");
        };
        report(path, fault_of(path, file, &key, subject.is_quick));
        if (file.compressed_bytes.empty()) continue;
        const fs::path copy = path.string() + ".gz";
        report(copy, fault_of_copy(copy, file, subject.is_quick));
    }
    const Files inputs = job_files(database);
    for (const auto& [name, file] : inputs) {
        const auto path = place_of(config.download_directory, config.directory_fanout, name);
        const auto fault = fault_of(path, file, nullptr, subject.is_quick);
        if (fault.empty()) continue;
        findings.bad(fmt::format("the jobs' input file {} {}", path.string(), fault),
                     "remove it: dedloc-work copies it again from the run's folder");
    }
    for (const auto& row : database.query(
             "select v.version_num, a.name from app_version v join app a on a.id = v.appid where "
             "v.deprecated = 0 and v.xml_doc = ''")) {
        findings.bad(fmt::format("version {} of {} is offered, but dedloc-purge has deleted it",
                                 row.integer("version_num"), row.text("name")),
                     "dedloc app withdraw, then publish a higher version");
    }
    const bool trains =
        database.query_one("select id from dedloc_run where state = 'running'").has_value();
    if (apps.empty() && trains) {
        findings.warning("no version of the app is published",
                         "dedloc app add: volunteers get no jobs without one");
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("{} files of app versions and {} input files of jobs are whole{}",
                                  apps.size(), inputs.size(),
                                  subject.is_quick ? "; their bytes were not read" : ""));
    }
}

void check_uploads(const Subject& subject, server::Database& database, Findings& findings) {
    const server::ProjectConfig& config = subject.config;
    std::size_t count = 0;
    for (std::int64_t last = 0;;) {
        const auto rows = database.query(
            fmt::format("select r.id, r.name, r.xml_doc_in from result r join app a on "
                        "a.id = r.appid where a.name in {} and r.validate_state = ? and "
                        "r.file_delete_state = ? and r.id > ? order by r.id limit ?",
                        server::kAppsInSql),
            {server::ValidateState::kValid, server::FileDeleteState::kInit, last, kRowsAtOnce});
        for (const auto& row : rows) {
            last = row.integer("id");
            // The first one is the receipt. A checkpoint is optional.
            const auto names = server::referenced_files(row.text("xml_doc_in"));
            if (names.empty()) continue;
            ++count;
            const auto path =
                place_of(config.upload_directory, config.directory_fanout, names.front());
            if (fs::exists(path)) continue;
            findings.bad(fmt::format("{}, the output file of the validated result {}, is absent",
                                     path.string(), row.text("name")),
                         "it was deleted by hand; credit does not depend on it");
        }
        if (rows.size() < kRowsAtOnce) break;
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("{} output files of validated results are there", count));
    }
}

}  // namespace dedloc::check
