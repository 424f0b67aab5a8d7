// Commands to the backbones of a project's runs, through the control plane. They need no database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "project_server/control/client.hpp"
#include "project_server/runs/history.hpp"
#include "project_server/views/run_status.hpp"

namespace dedloc::runs {

/// What set_paused() has reached.
struct PauseOutcome {
    bool is_live = false;    ///< the run's own backbone works
    std::size_t voters = 0;  ///< otherwise: voters on other machines that were told
};
/// Pauses the run, or lets it go on. If its backbone works, that has happened when this returns;
/// else the backbone finds it in the run's folder at its next start, and voters on other machines
/// that can be reached are told at once.
///
/// Errors  InputError (no such run, it is finished), IoError (the backbone does not answer, disk)
PauseOutcome set_paused(const std::filesystem::path& project, const std::string& run,
                        bool is_paused);

/// A weight for a source of a run.
struct SourceWeight {
    std::string name;   ///< the source's name
    double weight = 0;  ///< how often samples come from it, relative to the others
};
/// Changes the mixture of a run's sources from a step on (nothing: as soon as it can be); the run's
/// backbone signs the change. Returns that step.
///
/// Errors  InputError: no such run, it has no sources or is finished; a source that it has not, one
///         that is not named, or named twice; no weight above 0; a step that cannot be
///         IoError: the backbone does not work or does not answer
std::uint64_t mix(const std::filesystem::path& project, const std::string& run,
                  const std::vector<SourceWeight>& weights, std::optional<std::uint64_t> from);

/// Has the run's backbone write its present state, and returns the state's step. Nothing if the
/// backbone does not work, or holds no state yet. Errors: InputError (no such run), IoError.
std::optional<std::uint64_t> checkpoint_now(const std::filesystem::path& project,
                                            const std::string& run);

/// Sends a request to the run's backbone. Whether it was carried out. Errors: InputError (no such
/// run), IoError.
bool tell_backbone(const std::filesystem::path& project, const std::string& run,
                   const control::Request& request);
/// The backbones that have carried out a request.
struct Told {
    std::size_t own = 0;     ///< runs' own backbones
    std::size_t voters = 0;  ///< voters on other machines
};
/// Sends a request to the backbones of all runs; where a run's own one does not work, to its voters
/// on other machines. Errors: InputError (no such project), IoError (one refuses, or does not
/// answer).
Told tell_backbones(const std::filesystem::path& project, const control::Request& request);
/// Leaves what is revoked to the backbones that do not work now: each moves it into the database
/// when it starts. Returns how many folders have it on the disk. Errors: InputError (no such
/// project, too many), IoError.
std::size_t leave_revocation(const std::filesystem::path& project,
                             const control::Revocation& named);

/// The run's state: from its history and, if its backbone works, from the backbone's picture (null:
/// it does not). Without figures on held-out data.
server::RunStatus status_of(const RunHistory& history, const control::Snapshot* picture);
/// The run's present state, asked of the backbone that works in its folder, else of a voter on
/// another machine. Errors: IoError.
server::RunStatus present_status(const backbone::RunFiles& files);

}  // namespace dedloc::runs
