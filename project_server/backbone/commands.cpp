#include "project_server/backbone/commands.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"

namespace dedloc::backbone {
namespace {

using control::Command;
using control::Reply;
using control::RunState;

Reply set_paused(bool is_paused, const control::Request& request, const CommandHandlers& handlers) {
    const RunState state = handlers.set_paused(is_paused, request.pause);
    if (state == RunState::kFinished) return {.is_done = false, .note = "the run is finished"};
    const bool is_done = (state == RunState::kPaused) == is_paused;
    if (!is_done) return {.is_done = false, .note = "the backbone has not done it in time"};
    return {.is_done = true, .note = fmt::format("the run is {}", name_of(state))};
}

Reply checkpoint(const CommandHandlers& handlers) {
    const auto step = handlers.checkpoint();
    if (!step) return {.is_done = false, .note = "the backbone holds no state yet"};
    return {.is_done = true, .note = fmt::format("state {} is on the disk", *step), .step = step};
}

Reply mix(const control::Mix& wanted, const CommandHandlers& handlers) {
    const auto from = handlers.mix(wanted);
    if (!from) return {.is_done = false, .note = "the backbone has not done it in time"};
    return {.is_done = true, .note = fmt::format("from step {} on", *from), .step = from};
}

Reply add_source(const Digest& source, const CommandHandlers& handlers) {
    if (handlers.add_source(source)) return {.is_done = true, .note = "the source is added"};
    return {.is_done = false, .note = "the backbone has not done it in time"};
}

Reply reply_to(const control::Request& request, const CommandHandlers& handlers) {
    switch (request.command) {
        case Command::kSnapshot:
            return {
                .is_done = true, .note = "a snapshot", .step = {}, .snapshot = handlers.snapshot()};
        case Command::kPause:
            return set_paused(true, request, handlers);
        case Command::kResume:
            return set_paused(false, request, handlers);
        case Command::kCheckpoint:
            return checkpoint(handlers);
        case Command::kReadVoters:
            handlers.read_voters();
            return {.is_done = true, .note = "the wanted voters are read"};
        case Command::kRevoke:
            handlers.revoke(request.revocation);
            return {.is_done = true, .note = "the links are closed"};
        case Command::kForgive:
            handlers.forgive(request.revocation);
            return {.is_done = true, .note = "forgiven"};
        case Command::kMix:
            return mix(request.mix, handlers);
        case Command::kAddSource:
            return add_source(request.source, handlers);
    }
    return {.is_done = false, .note = "unknown command"};
}

}  // namespace

std::string answer(std::string_view request, const CommandHandlers& handlers) {
    try {
        return control::write(reply_to(control::read_request(request), handlers));
    } catch (const Error& error) {
        return control::write(Reply{.is_done = false, .note = error.what()});
    }
}

}  // namespace dedloc::backbone
