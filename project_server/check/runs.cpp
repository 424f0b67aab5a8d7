// Files, keys and rows of runs.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/mapped_file.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/check/run_folder.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

const std::string kFromBackup = "put it back from a backup";

/// `what` names the file's kind.
void check_file(const char* what, const fs::path& path, const formats::ShardReference& shard,
                bool is_quick, Findings& findings) {
    std::error_code absent;
    const auto bytes = fs::file_size(path, absent);
    if (absent)
        return findings.bad(fmt::format("the {} {} is absent", what, path.string()), kFromBackup);
    bool is_whole = bytes == shard.bytes;
    if (is_whole && !is_quick) {
        const platform::MappedFile file{path};
        is_whole = blake2b(file.bytes()) == shard.digest;
        file.forget_pages();
    }
    if (!is_whole) {
        findings.bad(fmt::format("the {} {} is cut off or altered", what, path.string()),
                     kFromBackup);
    }
}

/// The project's public keys.
struct ProjectKeys {
    PeerKey project;
    std::optional<PeerKey> ticket;  ///< nothing: the file is absent, which check_secrets() reports
};

ProjectKeys read_keys(const fs::path& state) {
    ProjectKeys keys{.project = platform::read_key(state / "keys/project.key").public_key(),
                     .ticket = std::nullopt};
    if (fs::exists(server::ticket_key_file(state))) {
        keys.ticket = server::read_ticket_key(state).public_key();
    }
    return keys;
}

void check_keys(const RunFolder& folder, const ProjectKeys& keys, Findings& findings) {
    const formats::RunFile& run = *folder.run;
    if (run.project_key != keys.project) {
        findings.bad(fmt::format("the run {} was made with another project key than "
                                 "keys/project.key",
                                 folder.name()),
                     "put the project's key back from a backup: without it the run accepts no "
                     "tickets");
    }
    if (run.ticket_key && keys.ticket && *run.ticket_key != *keys.ticket) {
        findings.bad(fmt::format("the run {} was made with another ticket key than "
                                 "keys/ticket.key",
                                 folder.name()),
                     "put the ticket key back from a backup: without it the gateway issues no "
                     "tickets for the run");
    }
    if (platform::read_key(folder.folder / "backbone.key").public_key() != run.backbone_key) {
        findings.bad(fmt::format("{} is not the key that the run file names",
                                 (folder.folder / "backbone.key").string()),
                     kFromBackup);
    }
}

/// Added sources without a file, by their index in the run. Their shards have no names.
std::set<std::uint32_t> check_added_sources(const RunFolder& folder, Findings& findings) {
    std::set<std::uint32_t> absent;
    auto index = static_cast<std::uint32_t>(folder.run->sources.size() - folder.run->added_sources);
    for (const Digest& source : server::added_to(folder.folder, *folder.run)) {
        if (!fs::exists(server::source_file(folder.folder, source))) {
            findings.bad(server::why_absent(folder.folder, source),
                         fmt::format("{}: until then the run has no new jobs, and its held-out "
                                     "loss is not measured",
                                     server::kAddAgain));
            absent.insert(index);
        }
        ++index;
    }
    return absent;
}

void check_files(const RunFolder& folder, const ProjectKeys& keys, bool is_quick,
                 Findings& findings) {
    const formats::RunFile& run = *folder.run;
    const std::string name = folder.name();
    if (run.name != name) {
        findings.bad(fmt::format("{} is the file of the run {}",
                                 (folder.folder / "run.json").string(), run.name),
                     kFromBackup);
    }
    check_keys(folder, keys, findings);
    if (const auto* const module = std::get_if<formats::ModuleSpec>(&run.model)) {
        check_file("module", folder.folder / formats::kModuleFile,
                   {.name = module->name, .digest = module->digest, .bytes = module->bytes},
                   is_quick, findings);
    }
    const bool has_model = formats::holds_text(run) && !corpus::has_whole_tokenizer(folder.folder);
    if (has_model && !fs::exists(folder.folder / "tokenizer.model")) {
        findings.bad(fmt::format("{} is absent", (folder.folder / "tokenizer.model").string()),
                     kFromBackup);
    }
    if (const auto fault = corpus::tokenizer_fault(folder.folder); !fault.empty()) {
        findings.bad(fault,
                     "put it back from a backup or from the corpus: an export's tokenizer would "
                     "give other ids than the model was trained on");
    }
    const auto absent = check_added_sources(folder, findings);
    for (const auto& shard : run.shards) {
        if (absent.contains(shard.source)) continue;
        check_file("shard", server::shard_file(folder.folder, shard), shard, is_quick, findings);
    }
}

/// What the check needs to know of a run in the database.
struct RunRow {
    std::string id;
    bool is_finished = false;
};
/// The runs in the database, by name.
using Rows = std::map<std::string, RunRow>;

/// The gateway of a run that is older than ticket keys has more to lose.
void check_gateway_key(const RunFolder& folder, const Rows& rows, Findings& findings) {
    const auto row = rows.find(folder.name());
    if (folder.run->ticket_key || (row != rows.end() && row->second.is_finished)) return;
    findings.warning(
        fmt::format("the run file of {} names no ticket key, so the gateway, which faces the "
                    "internet, loads the project's key for its tickets",
                    folder.name()),
        "a run of an earlier version keeps its file: finish it, or create another run --from its "
        "exported model");
}

void check_row(const RunFolder& folder, const Rows& rows, Findings& findings) {
    const auto row = rows.find(folder.name());
    if (row == rows.end()) {
        findings.warning(fmt::format("{} is no run of the database", folder.folder.string()),
                         "left by a creation that was killed: remove it");
    } else if (row->second.id != folder.id.hex()) {
        findings.bad(
            fmt::format("the database has the run {} with another run file", folder.name()),
            "database and files are from different times: restore both from one backup");
    }
}

}  // namespace

void check_runs(const Subject& subject, server::Database* database, Findings& findings) {
    Rows rows;
    if (database != nullptr) {
        for (const auto& row : database->query("select name, run_id, state from dedloc_run")) {
            rows[row.text("name")] = {.id = row.text("run_id"),
                                      .is_finished = row.text("state") == "finished"};
        }
    }
    const ProjectKeys keys = read_keys(subject.state());
    const auto folders = run_folders(subject.state());
    for (const RunFolder& folder : folders) {
        const std::string name = folder.name();
        try {
            if (!folder.run) {
                findings.bad(folder.failure, kFromBackup);
            } else {
                check_files(folder, keys, subject.is_quick, findings);
                check_gateway_key(folder, rows, findings);
                if (database != nullptr) check_row(folder, rows, findings);
            }
        } catch (const Error& error) {
            findings.bad(error.what(), kFromBackup);
        }
        rows.erase(name);
    }
    for (const auto& [name, row] : rows) {
        findings.bad(fmt::format("the run {} of the database has no folder in {}", name,
                                 (subject.state() / "runs").string()),
                     "put the folder back from a backup");
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("{} runs have their files and keys{}", folders.size(),
                                  subject.is_quick ? "; digests of shards were left out" : ""));
    }
}

}  // namespace dedloc::check
