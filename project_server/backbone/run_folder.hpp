// A folder in which a backbone works: PROJECT/runs/NAME for the run's own one, a folder made from
// an appointment (appointment.hpp) for a voter on another machine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/backbone/appointment.hpp"

namespace dedloc::backbone {

struct RunFolder {
    std::filesystem::path folder;
    std::unique_ptr<platform::FolderLock> lock;
    formats::RunFile run;
    RunId id;
    KeyPair key;  ///< the backbone's
    /// The project's, if it lies here: then this backbone may sign generations.
    std::optional<KeyPair> project_key{};
    /// Of a voter on another machine; nothing for the run's own backbone.
    std::optional<VoterSettings> settings{};

    /// The one that the run file names.
    bool is_own_backbone() const { return key.public_key() == run.backbone_key; }
    std::filesystem::path ledger() const { return folder / "ledger"; }
    /// What this voter has promised and voted for.
    std::filesystem::path voter() const { return folder / "voter"; }
    std::filesystem::path wanted_voters() const { return folder / "voters.json"; }
    std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
    std::filesystem::path dht_nodes() const { return folder / "dht_nodes"; }
};

/// Reads run.json, backbone.key and, if it can be read, the project's keys/project.key. Errors:
/// InputError (no such run, a file cannot be used, the key is another one), IoError (in use).
RunFolder read_run_folder(const std::filesystem::path& project, const std::string& run_name);

/// The folder of a voter on another machine. With `appointment`, the file that the project has
/// handed to it: at the first start its contents move into `folder`, with the memory of a voter
/// that has never voted, and the file is removed, since a second process with its key would vote
/// twice. Later the file may be absent.
///
/// Crash   at any moment: the next start with the same arguments goes on; the file is removed
///         only after the folder is complete and on the disk
/// Errors  InputError (no appointment there, of another run, the folder of another voter or of
///         something else, a lost memory), IoError (in use, disk full, cannot be removed)
RunFolder open_voter_folder(const std::filesystem::path& folder,
                            const std::optional<std::filesystem::path>& appointment);

}  // namespace dedloc::backbone
