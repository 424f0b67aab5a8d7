// Commands to the backbones of a project's runs, through the control plane. They need no database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "project_server/cli/run.hpp"
#include "project_server/cli/run_history.hpp"
#include "project_server/control/client.hpp"

namespace dedloc::cli {

/// Pauses the run, or lets it go on. If its backbone works, that has happened when this returns;
/// else the backbone finds it in the run's folder at its next start. Returns whether it works.
///
/// Errors  InputError (no such run, it is finished), IoError (the backbone does not answer, disk)
bool set_paused(const std::filesystem::path& project, const std::string& run, bool is_paused);

/// Has the run's backbone write its present state, and returns the state's step. Nothing if the
/// backbone does not work, or holds no state yet. Errors: InputError (no such run), IoError.
std::optional<std::uint64_t> checkpoint_now(const std::filesystem::path& project,
                                            const std::string& run);

/// Sends a request to the run's backbone. Whether it was carried out. Errors: InputError (no such
/// run), IoError.
bool tell_backbone(const std::filesystem::path& project, const std::string& run,
                   const control::Request& request);
/// Sends a request to the backbones of all runs. Returns how many have carried it out.
/// Errors: InputError (no such project), IoError (one refuses, or does not answer).
std::size_t tell_backbones(const std::filesystem::path& project, const control::Request& request);

/// The run's state: from its history and, if its backbone works, from the backbone's picture (null:
/// it does not). Without figures on held-out text.
RunStatus status_of(const RunHistory& history, const control::Snapshot* picture);
/// The run's present state, asked of the backbone that works in its folder. Errors: IoError.
RunStatus present_status(const RunFiles& files);

}  // namespace dedloc::cli
