// Answers the commands of the control plane (project_server/control).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "project_server/control/messages.hpp"

namespace dedloc::backbone {

/// What carries the commands out. Each function returns when the command has taken effect and what
/// must be durable is on the disk; it may throw Error, whose sentence is then the reply. Thread:
/// any, also several at once.
struct CommandHandlers {
    /// Returns the picture of the run.
    std::function<control::Snapshot()> snapshot;
    /// `order` is the project's, if the request has one. Returns the run's state afterwards.
    std::function<control::RunState(bool is_paused, const std::optional<SignedPause>& order)>
        set_paused;
    /// Changes the mixture of sources; returns the first step of the change. Nothing: not in time.
    std::function<std::optional<std::uint64_t>(const control::Mix&)> mix;
    /// Adds the source whose file has this digest, or has it already. False: not in time.
    std::function<bool(const Digest&)> add_source;
    /// Returns the step of the state; nothing if this backbone holds none yet.
    std::function<std::optional<std::uint64_t>()> checkpoint;
    /// Reads the run's voters from the database again.
    std::function<void()> read_voters;
    /// Revokes the tickets of a user, host or peer, and ends their links.
    std::function<void(const control::Revocation&)> revoke;
    /// Takes such a revocation back.
    std::function<void(const control::Revocation&)> forgive;
};

/// The reply to a request, both as text; the request is not trusted. Never throws an Error.
std::string answer(std::string_view request, const CommandHandlers& handlers);

}  // namespace dedloc::backbone
