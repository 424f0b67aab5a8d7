// Frames are classified by the index of their body; only plans, and this peer's own Ready and
// Propose messages, are decoded. Signatures are not verified. Bulk frames are only counted, so the
// watch costs little. The forecast uses the newest heartbeats for the members' bandwidths.
#include "peer/tool/round_watch.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "peer/net/session/link_frame.hpp"
#include "peer/planning/planner.hpp"
#include "peer/wire/message_codec.hpp"
#include "peer/wire/plan_change.hpp"

namespace dedloc::tool {
namespace {

/// No forecast for plans with more members: decoding their heartbeats would cost too much.
constexpr std::size_t kMaxMembers = 128;

template <class Kind, std::size_t I = 0>
constexpr std::size_t index_of() {
    if constexpr (std::is_same_v<std::variant_alternative_t<I, wire::BodyKinds>, Kind>) {
        return I;
    } else {
        return index_of<Kind, I + 1>();
    }
}

template <class... Kinds>
bool is_one_of(std::size_t index) {
    return ((index == index_of<Kinds>()) || ...);
}

}  // namespace

double seconds_now() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double cpu_seconds_now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds_of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

void RoundWatch::sent(const Frame& frame) {
    if (!frame.has_bulk()) return look_at(Direction::kOut, LinkId{0}, frame.whole());
    // Only chunks have a body that is sent from its place in memory.
    const std::lock_guard lock(mutex_);
    count(Direction::kOut, true, frame.size());
}
void RoundWatch::received(LinkId link, const SharedBytes& frame) {
    look_at(Direction::kIn, link, frame);
}
void RoundWatch::closed(LinkId link) {
    const std::lock_guard lock(mutex_);
    heartbeats_.erase(link);
}

/// Adds a frame to the traffic. The lock must be held.
void RoundWatch::count(Direction direction, bool is_bulk, std::size_t frame_bytes) {
    Traffic& traffic = traffic_[static_cast<std::size_t>(direction)];
    (is_bulk ? traffic.bulk : traffic.control) += frame_bytes + sizeof(net::FrameHeader);
    ++traffic.frames;
}

/// Counts a frame; keeps heartbeats, and decodes the few messages that show a round's progress.
void RoundWatch::look_at(Direction direction, LinkId link, const SharedBytes& frame) {
    const auto index = wire::body_index(*frame);
    const std::lock_guard lock(mutex_);
    const bool is_bulk = index && is_one_of<wire::Chunk, wire::Leaf>(*index);
    count(direction, is_bulk, frame->size());
    if (!index || is_bulk) return;
    if (is_one_of<wire::Heartbeat>(*index)) heartbeats_[link] = frame;
    const bool is_telling =
        is_one_of<wire::Plan, wire::PlanChange>(*index) ||
        (direction == Direction::kOut && is_one_of<wire::Ready, wire::Propose>(*index));
    if (!is_telling) return;
    if (const auto message = wire::decode_unverified(*frame)) take(*message, direction);
}

RoundTimes& RoundWatch::round_of(StepIndex step) {
    if (times_.step != step) times_ = RoundTimes{.step = step, .promised = {}};
    return times_;
}

void RoundWatch::take(const wire::Message& message, Direction direction) {
    if (const auto* plan = std::get_if<wire::Plan>(&message.body)) {
        take_plan(message, *plan);
        plan_ = *plan;
    } else if (const auto* change = std::get_if<wire::PlanChange>(&message.body)) {
        if (plan_) plan_ = wire::applied(*plan_, *change);
        if (plan_) take_plan(message, *plan_);
    } else if (direction == Direction::kOut) {
        // A proposal goes to each voter, and again to voters that do not answer: the first counts.
        RoundTimes& times = round_of(message.step);
        if (times.averaged != 0) return;
        times.averaged = seconds_now();
        times.cpu_averaged = cpu_seconds_now();
    }
}

/// A coordinator sends the same plan to many members: only the first one of an attempt counts.
void RoundWatch::take_plan(const wire::Message& message, const wire::Plan& plan) {
    RoundTimes& times = round_of(message.step);
    if (times.planned != 0 && times.attempt == plan.attempt) return;
    times.planned = seconds_now();
    times.averaged = 0;
    times.attempt = plan.attempt;
    std::set<std::uint32_t> reducers;
    for (const wire::ChunkRange& range : plan.ranges) reducers.insert(range.member.value());
    times.reducers = static_cast<std::uint32_t>(reducers.size());
    times.promised = promise_of(plan);
}

std::optional<double> RoundWatch::promise_of(const wire::Plan& plan) const {
    if (plan.members.size() > kMaxMembers) return std::nullopt;
    std::map<PeerKey, wire::Heartbeat> told;
    for (const auto& [link, frame] : heartbeats_) {
        const auto message = wire::decode_unverified(*frame);
        if (message) told[message->sender] = std::get<wire::Heartbeat>(message->body);
    }
    planning::PlanRequest request{.members = {},
                                  .elements = plan.elements,
                                  .chunk_elements = plan.chunk_elements,
                                  .contribution = planning::on_the_wire(codec_),
                                  .average = planning::on_the_wire(codec_)};
    bool is_known = false;
    for (const wire::PlanMember& member : plan.members) {
        const wire::Heartbeat& heartbeat = told[member.peer];
        is_known = is_known || heartbeat.upload || heartbeat.download;
        request.members.push_back({.upload = heartbeat.upload,
                                   .download = heartbeat.download,
                                   .contributes = member.samples > Samples{0},
                                   .receives = member.receives,
                                   .is_reachable = true});
    }
    if (!is_known) return std::nullopt;
    const auto forecast = planning::forecast(request, plan.ranges);
    return seconds_of(forecast.transfer);
}

void RoundWatch::frozen(StepIndex step) {
    const std::lock_guard lock(mutex_);
    RoundTimes& times = round_of(step);
    times.frozen = seconds_now();
    times.cpu_frozen = cpu_seconds_now();
}
void RoundWatch::committed(StepIndex step) {
    const std::lock_guard lock(mutex_);
    round_of(step).committed = seconds_now();
}

RoundTimes RoundWatch::times() const {
    const std::lock_guard lock(mutex_);
    return times_;
}
Traffic RoundWatch::sent() const {
    const std::lock_guard lock(mutex_);
    return traffic_[static_cast<std::size_t>(Direction::kOut)];
}
Traffic RoundWatch::received() const {
    const std::lock_guard lock(mutex_);
    return traffic_[static_cast<std::size_t>(Direction::kIn)];
}

EventSink watched(RoundWatch& watch, EventSink sink) {
    return [&watch, sink = std::move(sink)](Event event) {
        if (const auto* received = std::get_if<event::FrameReceived>(&event)) {
            watch.received(received->link, received->frame);
        } else if (const auto* closed = std::get_if<event::LinkClosed>(&event)) {
            watch.closed(closed->link);
        }
        sink(std::move(event));
    };
}

}  // namespace dedloc::tool
