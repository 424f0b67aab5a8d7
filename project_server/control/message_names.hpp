// The words and bounds that writers and readers of messages share.
#pragma once

#include <array>
#include <cstddef>
#include <variant>

#include "project_server/control/messages.hpp"

namespace dedloc::control {

/// The names of RunState.
inline constexpr std::array<const char*, 3> kStateNames{"running", "paused", "finished"};
/// The names of Happening's alternatives.
inline constexpr std::array<const char*, std::variant_size_v<Happening>> kEventNames{
    "step", "settled", "void", "joined", "left", "progress", "state", "suspicion"};
/// The names of Command.
inline constexpr std::array<const char*, 9> kCommandNames{
    "snapshot", "pause",   "resume", "checkpoint", "read_voters",
    "revoke",   "forgive", "mix",    "add_source"};
/// Magnitude of every number that is not whole.
inline constexpr double kMaxNumber = 1e30;

}  // namespace dedloc::control
