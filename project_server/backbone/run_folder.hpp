// The folder that a backbone works in: PROJECT/runs/NAME for the run's own backbone, a folder made
// from an appointment (appointment.hpp) for a voter on another machine.
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

/// The folder's contents and the paths of its files.
struct RunFolder {
    std::filesystem::path folder;                ///< absolute
    std::unique_ptr<platform::FolderLock> lock;  ///< keeps other processes out
    formats::RunFile run;                        ///< run.json
    RunId id;                                    ///< the run's id
    KeyPair key;                                 ///< the backbone's secret key
    /// The project's key, if it is on this machine: then this backbone may sign generations.
    std::optional<KeyPair> project_key{};
    /// The settings of a voter on another machine; nothing for the run's own backbone.
    std::optional<VoterSettings> settings{};

    /// Whether this is the backbone that the run file names.
    bool is_own_backbone() const { return key.public_key() == run.backbone_key; }
    /// The files that a backbone writes; voter() is this voter's promises and votes, and
    /// `dedloc run appoint` writes wanted_voters().
    std::filesystem::path ledger() const { return folder / "ledger"; }
    std::filesystem::path voter() const { return folder / "voter"; }
    /// How often the run was paused or resumed (pause_file.hpp), and what was revoked and is not in
    /// the database yet (pending_revocations.hpp).
    std::filesystem::path pause() const { return folder / "pause"; }
    /// The project's changes of the mixture of sources (project_server/run_sources.hpp).
    std::filesystem::path mixture() const { return folder / "mixture"; }
    std::filesystem::path pending_revocations() const { return folder / "pending_revocations"; }
    std::filesystem::path wanted_voters() const { return folder / "voters.json"; }
    std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
    std::filesystem::path dht_nodes() const { return folder / "dht_nodes"; }
};

/// Locks the folder of the run's own backbone and reads run.json, backbone.key and, if it can be
/// read, the project's keys/project.key. Errors: InputError (no such run, an unusable file, a key
/// that run.json does not name), IoError (in use).
RunFolder read_run_folder(const std::filesystem::path& project, const std::string& run_name);

/// Locks and reads the folder of a voter on another machine. `appointment` is the file from the
/// project. At the first start its contents move into `folder`, with the memory of a voter that has
/// never voted, and the file is removed, because a second process with its key would vote twice.
/// Later the file may be absent.
///
/// Crash   at any moment: repeat the start with the same arguments; the file is removed only after
///         the folder is complete and on the disk
/// Errors  InputError (no appointment, another run's, another voter's folder, not a voter's
///         folder, a lost memory), IoError (in use, disk full, cannot be removed)
RunFolder open_voter_folder(const std::filesystem::path& folder,
                            const std::optional<std::filesystem::path>& appointment);

}  // namespace dedloc::backbone
