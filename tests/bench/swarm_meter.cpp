#include "tests/bench/swarm_meter.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <set>

#include "peer/base/check.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::bench {
namespace {

using simulation::NodeId;

/// Headers of a frame on the simulated network.
constexpr std::uint64_t kFrameOverhead = simulation::NetworkOptions{}.frame_overhead;

template <class Kind, std::size_t k = 0>
constexpr std::size_t index_of() {
    if constexpr (std::is_same_v<std::variant_alternative_t<k, wire::BodyKinds>, Kind>) {
        return k;
    } else {
        return index_of<Kind, k + 1>();
    }
}

double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

bool is_data(std::size_t kind) {
    return kind == index_of<wire::Chunk>() || kind == index_of<wire::Leaf>();
}

Tally& Tally::operator+=(const Tally& other) {
    for (std::size_t k = 0; k < kKinds; ++k) {
        sent[k] += other.sent[k];
        received[k] += other.received[k];
        cpu_of_received[k] += other.cpu_of_received[k];
    }
    cpu_seconds += other.cpu_seconds;
    longest_call_seconds = std::max(longest_call_seconds, other.longest_call_seconds);
    events += other.events;
    return *this;
}

Count Tally::sum(const std::array<Count, kKinds>& counts, bool data) const {
    Count sum;
    for (std::size_t k = 0; k < kKinds; ++k) {
        if (is_data(k) == data) sum += counts[k];
    }
    return sum;
}

bool Meter::is_metered(NodeId node) const {
    return std::find(metered_.begin(), metered_.end(), node) != metered_.end();
}

/// Caches the kind of the last frame: a broadcast sends the same bytes repeatedly.
const Meter::Frame& Meter::look_at(const SharedBytes& bytes) {
    if (bytes == last_seen_) return last_frame_;
    const auto message = wire::decode_unverified(*bytes);
    DEDLOC_CHECK(message, "peers send messages");
    last_seen_ = bytes;
    last_frame_ = {.kind = message->body.index(),
                   .step = message->step,
                   .reducers = 0,
                   .bytes = bytes->size() + kFrameOverhead};
    if (const auto* plan = std::get_if<wire::Plan>(&message->body)) {
        std::set<std::uint32_t> reducers;
        for (const wire::ChunkRange& range : plan->ranges) reducers.insert(range.member.value());
        last_frame_.reducers = reducers.size();
    }
    return last_frame_;
}

/// The timings of the current step, or of the one just committed, which some peers must still
/// apply.
Step& Meter::step_of(StepIndex step) {
    return !steps_.empty() && steps_.back().step == step ? steps_.back() : open_;
}

void Meter::received(TimePoint now, NodeId node, const Frame& frame) {
    if (is_data(frame.kind)) data_[node].received += frame.bytes;
    if (frame.kind == index_of<wire::Call>()) step_of(frame.step).called = now;
    if (frame.kind == index_of<wire::Plan>()) {
        step_of(frame.step).planned = now;
        step_of(frame.step).reducers = frame.reducers;
    }
    if (frame.kind == index_of<wire::PlanChange>()) step_of(frame.step).planned = now;
}

void Meter::handles(TimePoint now, NodeId node, const Event& event) {
    if (const auto* frame = std::get_if<event::FrameReceived>(&event)) {
        const Frame& seen = look_at(frame->frame);
        received(now, node, seen);
        if (is_metered(node)) {
            open_.tallies[node].received[seen.kind] += Count{.frames = 1, .bytes = seen.bytes};
        }
    } else if (const auto* frozen = std::get_if<event::ContributionFrozen>(&event)) {
        step_of(frozen->step).frozen = now;
    } else if (const auto* state = std::get_if<event::StateReached>(&event)) {
        if (state->step > StepIndex{0}) {
            step_of(StepIndex{state->step.value() - 1}).reached = now;
        }
    }
    if (!is_metered(node)) return;
    const bool is_frame = std::holds_alternative<event::FrameReceived>(event);
    handled_kind_ = is_frame ? std::optional{last_frame_.kind} : std::nullopt;
    begun_seconds_ = thread_seconds();
}

void Meter::has_handled(TimePoint now, NodeId node, const Actions& actions) {
    Tally* tally = nullptr;
    if (is_metered(node)) {
        const double took = thread_seconds() - begun_seconds_;
        tally = &open_.tallies[node];
        tally->cpu_seconds += took;
        if (handled_kind_) tally->cpu_of_received[*handled_kind_] += took;
        tally->longest_call_seconds = std::max(tally->longest_call_seconds, took);
        ++tally->events;
    }
    const action::Committed* committed = nullptr;
    for (const Action& action : actions) {
        if (const auto* send = std::get_if<action::Send>(&action)) {
            const Frame& frame = look_at(send->frame.whole());
            if (is_data(frame.kind)) data_[node].sent += frame.bytes;
            if (frame.kind == index_of<wire::Call>()) {
                Step& step = step_of(frame.step);
                if (!step.call_sent) step.call_sent = now;
            }
            if (tally) tally->sent[frame.kind] += Count{.frames = 1, .bytes = frame.bytes};
        } else if (const auto* decided = std::get_if<action::Committed>(&action)) {
            committed = decided;
        } else if (const auto* note = std::get_if<action::Note>(&action)) {
            if (node == metered_.front()) tell(now, note->line);
        }
    }
    if (committed && node == metered_.front()) close_step(now, committed->record);
}

void Meter::tell(TimePoint now, const std::string& line) const {
    if (!tells_notes_) return;
    const std::chrono::duration<double> when = now.time_since_epoch();
    std::fprintf(stderr, "%.3f s: %s\n", when.count(), line.c_str());
}

void Meter::close_step(TimePoint now, const CommitRecord& record) {
    tell(now, "step " + std::to_string(record.step.value()) + " is decided, " +
                  std::to_string(record.members.size()) + " members");
    open_.step = record.step;
    open_.members = record.members.size();
    open_.committed = now;
    for (NodeId node = 0; node < data_.size(); ++node) {
        const auto seconds = std::chrono::duration<double>{std::max(
            static_cast<double>(data_[node].sent) / links_[node].upload_bytes_per_second,
            static_cast<double>(data_[node].received) / links_[node].download_bytes_per_second)};
        open_.data = std::max(open_.data, std::chrono::duration_cast<Duration>(seconds));
        data_[node] = {};
    }
    steps_.push_back(std::exchange(open_, {}));
}

}  // namespace dedloc::bench
