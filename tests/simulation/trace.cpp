// Every event and action enters the hash, but only those worth reading become lines. A line of a
// frame keeps the frame and is decoded only when last_lines() is called, which keeps tracing cheap.
// The name tables follow the order of Event, Action and wire::Body; static_asserts check their
// size.
#include "tests/simulation/trace.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "peer/base/overloaded.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::simulation {
namespace {

constexpr std::array kEventNames{"Tick",
                                 "EndpointsFound",
                                 "LinkOpened",
                                 "LinkClosed",
                                 "DialFailed",
                                 "FrameWritten",
                                 "FrameReceived",
                                 "Progressed",
                                 "ContributionFrozen",
                                 "StateReached",
                                 "StateRefused",
                                 "SnapshotTaken",
                                 "GenerationSigned",
                                 "VotersWanted",
                                 "PauseSigned",
                                 "RevocationsSigned",
                                 "HistoryRead",
                                 "LeaveRequested",
                                 "ReturnRequested",
                                 "ListeningPortChanged",
                                 "MixtureSigned"};
static_assert(kEventNames.size() == std::variant_size_v<EventKinds>);

constexpr std::array kActionNames{"Dial",
                                  "Send",
                                  "Close",
                                  "Work",
                                  "Freeze",
                                  "Apply",
                                  "TakeSnapshot",
                                  "Load",
                                  "Pause",
                                  "Voted",
                                  "Committed",
                                  "GenerationBegun",
                                  "GenerationWanted",
                                  "PauseChanged",
                                  "RevocationsHeard",
                                  "ReadHistory",
                                  "Settled",
                                  "SwarmSeen",
                                  "Finished",
                                  "Refused",
                                  "Left",
                                  "Note",
                                  "Overlap",
                                  "TurnChanged",
                                  "Mix",
                                  "MixtureChanged"};
static_assert(kActionNames.size() == std::variant_size_v<ActionKinds>);

constexpr std::array kBodyNames{
    "Challenge",   "Hello",      "Leave",       "Refusal",    "Heartbeat",      "Generation",
    "Elect",       "Promise",    "Call",        "Join",       "Plan",           "Cancel",
    "Chunk",       "Reduced",    "Stalled",     "Ready",      "Propose",        "Accept",
    "Commit",      "StateVotes", "CommitQuery", "StateQuery", "StateOffer",     "RoundOffer",
    "LeafRequest", "Leaf",       "Relay",       "Pause",      "RevocationList", "TurnChange",
    "PlanChange",  "PlanQuery",  "SliceQuery",  "Mixture"};
static_assert(kBodyNames.size() == std::variant_size_v<wire::BodyKinds>);

/// One line about a frame; empty for a heartbeat.
std::string description_of(const SharedBytes& frame) {
    const auto message = wire::decode_unverified(*frame);
    if (!message) return fmt::format("unreadable frame of {} bytes", frame->size());
    std::string text =
        fmt::format("{} generation {} step {} from {}", name_of_body(message->body.index()),
                    message->generation, message->step.value(), message->sender.brief());
    if (const auto* chunk = std::get_if<wire::Chunk>(&message->body)) {
        text +=
            fmt::format(" {} {}", chunk->kind == wire::ChunkKind::kScatter ? "scatter" : "gather",
                        chunk->chunk);
    } else if (const auto* plan = std::get_if<wire::Plan>(&message->body)) {
        text += fmt::format(" attempt {} members {}", plan->attempt, plan->members.size());
    } else if (std::holds_alternative<wire::Heartbeat>(message->body)) {
        return "";
    }
    return text + fmt::format(", {} bytes", frame->size());
}

}  // namespace

const char* name_of_body(std::size_t index) {
    return kBodyNames[index];
}

void Trace::mix(TimePoint when, std::uint32_t node, std::uint64_t kind, std::uint64_t size) {
    const auto add = [this](std::uint64_t value) {
        hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15u;
        hash_ ^= hash_ >> 29;
    };
    add(static_cast<std::uint64_t>(when.time_since_epoch().count()));
    add(std::uint64_t{node} << 32 | kind);
    add(size);
}

void Trace::keep(Line line) {
    lines_.push_back(std::move(line));
    if (lines_.size() > max_lines_) lines_.pop_front();
}

void Trace::event(TimePoint when, std::uint32_t node, const Event& event) {
    std::uint64_t size = 0;
    Line line{.when = when, .node = node};
    bool is_worth_reading = true;
    std::visit(Overloaded{
                   [&](const event::Tick&) { is_worth_reading = false; },
                   [&](const event::FrameWritten& e) {
                       size = e.link.value();
                       is_worth_reading = false;
                   },
                   [&](const event::EndpointsFound& e) {
                       size = e.endpoints.size();
                       is_worth_reading = false;
                   },
                   [&](const event::Progressed& e) {
                       size = e.samples.value();
                       is_worth_reading = false;
                   },
                   [&](const event::FrameReceived& e) {
                       size = e.frame->size();
                       line.link = e.link;
                       line.frame = e.frame;
                   },
                   [&](const event::LinkOpened& e) { size = e.link.value(); },
                   [&](const event::LinkClosed& e) { size = e.link.value(); },
                   [&](const event::StateReached& e) { size = e.step.value(); },
                   [](const auto&) {},
               },
               event);
    mix(when, node, event.index(), size);
    if (!is_worth_reading) return;
    line.name = kEventNames[event.index()];
    line.size = size;
    keep(std::move(line));
}

void Trace::action(TimePoint when, std::uint32_t node, const Action& action) {
    std::uint64_t size = 0;
    Line line{.when = when, .node = node, .is_sent = true};
    if (const auto* send = std::get_if<action::Send>(&action)) {
        size = send->frame.size();
        line.link = send->link;
        line.frame = send->frame;
    }
    mix(when, node, 100 + action.index(), size);
    if (const auto* told = std::get_if<action::Note>(&action)) return note(when, node, told->line);
    line.name = kActionNames[action.index()];
    keep(std::move(line));
}

void Trace::note(TimePoint when, std::uint32_t node, std::string line) {
    const double seconds = seconds_of(when.time_since_epoch());
    notes_.push_back(fmt::format("{:12.6f} s  {:3}  {}", seconds, node, line));
    if (notes_.size() > kNotes) notes_.pop_front();
    keep({.when = when, .node = node, .text = "* " + std::move(line)});
}

/// Without time and node; empty for a heartbeat.
std::string Trace::describe(const Line& line) {
    if (line.frame) {
        const std::string what = description_of(line.frame.whole());
        if (what.empty()) return what;
        return fmt::format("{} link {}: {}", line.is_sent ? "->" : "<-", line.link.value(), what);
    }
    if (line.name == nullptr) return line.text;
    return line.is_sent ? fmt::format("action {}", line.name)
                        : fmt::format("{} {}", line.name, line.size);
}

std::vector<std::string> Trace::last_lines() const {
    std::deque<std::string> lines;
    for (auto line = lines_.rbegin(); line != lines_.rend() && lines.size() < max_printed_;
         ++line) {
        const double seconds = seconds_of(line->when.time_since_epoch());
        const std::string text = describe(*line);
        if (text.empty()) continue;
        lines.push_front(fmt::format("{:12.6f} s  {:3}  {}", seconds, line->node, text));
    }
    return {lines.begin(), lines.end()};
}

}  // namespace dedloc::simulation
