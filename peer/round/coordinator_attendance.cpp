// Which trainers are called and how long a Call waits for each of them. attendances.hpp decides;
// this file tells it what the coordinator sees, and trainers what is decided.
#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "peer/planning/request.hpp"
#include "peer/round/coordinator.hpp"

namespace dedloc::round {

/// Times of the heads whose samples may count. Samples of a history that this peer has not followed
/// may be as old as it allows: then the bound is carried_.
void Coordinator::note_head_time(TimePoint now, bool is_live) {
    if (!is_live) head_times_.clear();
    head_times_.push_front(now);
    const std::size_t most = wire::kMaxStaleSteps + 1;
    if (head_times_.size() > most) head_times_.pop_back();
}

/// Since when this trainer computes for the round of the head. One that is not in every round has
/// computed for longer, but none of its samples are of the time before its last counted ones.
TimePoint Coordinator::computed_since(const PeerKey& peer) const {
    const bool is_of_head = !attendances_.may_hold_old(peer, voter_.head().step);
    if (is_of_head || head_times_.empty()) return computing_since_;
    return std::min(computing_since_, attendances_.unpaid_since(peer, head_times_.back()));
}

bool Coordinator::is_called(TimePoint now, const PeerKey& peer,
                            const membership::Known& known) const {
    return is_eligible(now, peer, known) && attendances_.is_called(peer, known.heartbeat, step_);
}

/// This peer, the members of the last round, and all others that are called or have another turn.
/// Members may still be on their way to the state of the head.
std::vector<FleetMember> Coordinator::fleet(TimePoint now) const {
    const bool is_reducer = links_.listening_port() != 0;
    std::vector<FleetMember> fleet{{.peer = self_,
                                    .member = {.upload = own_.upload(),
                                               .download = own_.download(),
                                               .contributes = config_.role == Role::kTrainer,
                                               .receives = config_.receives,
                                               .is_reachable = is_reducer},
                                    .samples_per_second = 0}};
    std::vector<PeerKey> peers;
    for (const auto& [peer, known] : links_.known()) {
        const bool is_linked = known.has_reported && known.generation == voter_.head().generation &&
                               !exclusions_.is_out(account_of(peer), now);
        const bool is_out = attendances_.of(peer) != Attendance::kEveryRound;
        const bool is_member = expected_members_.contains(peer) || is_eligible(now, peer, known);
        if (is_linked && (is_out || is_member)) peers.push_back(peer);
    }
    for (const PeerKey& peer : seated(std::move(peers))) {
        const membership::Known& known = *links_.find(peer);
        const double rate = std::min(known.heartbeat.samples_per_second,
                                     static_cast<double>(known.max_samples_per_second));
        const auto positive = [](std::optional<Bandwidth> bandwidth) {
            return bandwidth && bandwidth->value() > 0 ? bandwidth : std::nullopt;
        };
        fleet.push_back({.peer = peer,
                         .member = {.upload = positive(known.heartbeat.upload),
                                    .download = positive(known.heartbeat.download),
                                    .contributes = known.role == Role::kTrainer,
                                    .receives = known.receives,
                                    .is_reachable = known.endpoint.port != 0},
                         .samples_per_second = rate});
    }
    return fleet;
}

/// The peer whose time is half as long again as every other's, and longer than planned; nothing if
/// there are fewer times than that.
std::optional<std::pair<PeerKey, Duration>> Coordinator::last_of(
    const std::map<PeerKey, TimePoint>& times, std::size_t least) const {
    std::optional<std::pair<PeerKey, Duration>> last;
    Duration second{};
    for (const auto& [peer, time] : times) {
        const Duration took = time - published_at_;
        if (!last || took > last->second) {
            if (last) second = last->second;
            last = {peer, took};
        } else {
            second = std::max(second, took);
        }
    }
    const bool is_alone = last && times.size() >= least && last->second > second + second / 2 &&
                          last->second > expected_;
    return is_alone ? last : std::nullopt;
}

/// All members of a round that took much longer than planned are ready. One whose contribution, or
/// averages, arrived here long after all others' has a slower uplink than it claims, and one that
/// received the average long after all others a slower downlink. Only what this peer sees counts,
/// so no member can say it of another.
void Coordinator::judge_links(TimePoint now) {
    constexpr Duration kLeast = std::chrono::seconds{1};
    if (expected_ == Duration{}) return;
    if (now - published_at_ < expected_ + std::max(expected_ / 2, kLeast)) return;
    const auto bytes = planning::on_the_wire(config_.rules.codec).bytes_of(config_.rules.elements);
    std::map<PeerKey, TimePoint> sent_at;
    std::map<PeerKey, TimePoint> averaged;
    for (const auto& [peer, seat] : seats_) {
        const auto note = [&, &key = peer](std::map<PeerKey, TimePoint>& times,
                                           std::optional<TimePoint> time) {
            if (time && *time > published_at_) times.emplace(key, *time);
        };
        note(sent_at, own_.heard_contribution(peer));
        note(averaged, own_.heard_average(peer));
    }
    // Its contribution and its averages share its uplink.
    const auto was_slow_to_send = [&](const PeerKey& peer, Duration took) {
        const auto average = averaged.find(peer);
        if (average != averaged.end()) took = std::max(took, average->second - published_at_);
        const std::uint64_t sent = traffic_of(config_.rules.codec, *plan_, peer).sent;
        attendances_.links().on_slow_send(peer, sent, took);
    };
    if (const auto last = last_of(sent_at, 3)) {
        was_slow_to_send(last->first, last->second);
    } else if (const auto last_average = last_of(averaged, 1)) {
        was_slow_to_send(last_average->first, last_average->second);
    } else if (const auto last_ready = last_of(ready_at_, 3)) {
        attendances_.links().on_slow_receive(last_ready->first, bytes, last_ready->second);
    }
}

/// Joins claim bandwidths. The plan counts with what was seen, where that is less. A member that
/// was not in the last round counts with at most kOfMedian times the median of those that were: its
/// first claim cannot take the whole vector.
void Coordinator::correct_claims() {
    constexpr std::uint64_t kOfMedian = 4;
    const auto bounded = [&](std::optional<Bandwidth> wire::Join::*claim) {
        std::vector<Bandwidth> known;
        for (const auto& [peer, seat] : seats_) {
            if (!expected_members_.contains(peer) || !seat.join) continue;
            if (const auto value = (*seat.join).*claim) known.push_back(*value);
        }
        if (known.size() < 3) return;
        const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
        std::ranges::nth_element(known, middle);
        const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / kOfMedian;
        const Bandwidth most{kOfMedian * std::min(middle->value(), limit)};
        for (auto& [peer, seat] : seats_) {
            if (peer == self_ || expected_members_.contains(peer) || !seat.join) continue;
            auto& value = (*seat.join).*claim;
            if (value) value = std::min(*value, most);
        }
    };
    bounded(&wire::Join::upload);
    bounded(&wire::Join::download);
    for (auto& [peer, seat] : seats_) {
        if (peer == self_ || !seat.join) continue;
        seat.join->upload = attendances_.links().upload_of(peer, seat.join->upload);
        seat.join->download = attendances_.links().download_of(peer, seat.join->download);
    }
    ignore_slow_claims();
}

/// No round waits for a member that needs, by its own claim, kTimes times as long for one vector as
/// the median member. Of an even number the slower one of the middle counts, so an honest pair
/// waits for each other. A link that is unknown counts as fast: else the only claim of a round
/// would be the median. Such a member and one that is doubted count for the plan as if their links
/// were unknown.
void Coordinator::ignore_slow_claims() {
    constexpr double kTimes = 16;
    constexpr double kLeast = std::chrono::duration<double>{kAlwaysGiven}.count();
    const auto bytes = static_cast<double>(
        planning::on_the_wire(config_.rules.codec).bytes_of(config_.rules.elements));
    const auto seconds_of = [&](const Seat& seat) {
        double most = 0;
        for (const auto& speed : {seat.join->upload, seat.join->download}) {
            if (speed) most = std::max(most, bytes / static_cast<double>(speed->value()));
        }
        return most;
    };
    std::vector<double> times;
    for (const auto& [peer, seat] : seats_) times.push_back(seconds_of(seat));
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    const double most = std::max(kLeast, kTimes * *middle);
    for (auto& [peer, seat] : seats_) {
        if (peer == self_) continue;
        seat.is_slow = seconds_of(seat) > most;
        if (seat.is_slow) seat.may_reduce = false;
        const bool is_doubted = complaints_.is_doubted(account_of(peer)) && !seat.may_reduce;
        if (seat.is_slow || is_doubted) seat.join->upload = seat.join->download = std::nullopt;
    }
}

/// A round was decided. In a large swarm some member is lost in nearly every round: a few of them
/// do not change its speed.
void Coordinator::judge_round(TimePoint now, const CommitRecord& record) {
    constexpr std::size_t kFew = 16;
    Samples samples;
    for (const CommitLine& line : record.members) samples += line.samples;
    const bool is_disturbed = kFew * disturbances_ > record.members.size();
    probe_.on_decision(now - published_at_);
    attendances_.on_decision(samples, now - head_since_, is_disturbed);
}

/// A new head: the turns of its round.
void Coordinator::choose_turns(TimePoint now, Outbox& out) {
    attendances_.begin(election_.term());
    for (const Attendances::Change& change : attendances_.choose(now, step_, fleet(now))) {
        batch_.forget(change.peer);
        out.note(change.why);
        out.send(change.peer, step_, change.assignment);
    }
}

std::set<PeerKey> Coordinator::without_every_round() const {
    std::set<PeerKey> peers;
    for (const auto& [peer, known] : links_.known()) {
        if (attendances_.of(peer) != Attendance::kEveryRound) peers.insert(peer);
    }
    return peers;
}

Duration Coordinator::join_limit(TimePoint now, const PeerKey& peer) const {
    if (peer == self_) return config_.rules.join_timeout;
    const TimePoint called_at = phase_ == Phase::kCalled ? called_at_ : now;
    return attendances_.join_limit(peer, called_at - computing_since_);
}

TimePoint Coordinator::next_join_deadline(TimePoint now) const {
    TimePoint next = kNever;
    for (const auto& [peer, seat] : seats_) {
        if (!seat.join) next = std::min(next, called_at_ + join_limit(now, peer));
    }
    return next;
}

/// Some members have not joined in time: the round goes on without them, and waits for the others.
void Coordinator::join_overdue(TimePoint now, Outbox& out) {
    std::vector<PeerKey> overdue;
    for (const auto& [peer, seat] : seats_) {
        if (!seat.join && now >= called_at_ + join_limit(now, peer)) overdue.push_back(peer);
    }
    for (const PeerKey& peer : overdue) {
        seats_.erase(peer);
        ++disturbances_;
        if (peer == self_) return cancel(now, "the coordinator has not joined in time", out);
        leave_waiting(now, peer, now - called_at_, "was called and has not joined in time", out);
    }
    deadline_ = next_join_deadline(now);
    if (deadline_ == kNever) plan(now, out);
}

/// The first time it may be a trainer whose micro-batches are long, which is told so. After that it
/// is one that ignores calls.
void Coordinator::leave_waiting(TimePoint now, const PeerKey& peer, Duration waited,
                                const std::string& why, Outbox& out) {
    const membership::Known* known = links_.find(peer);
    const bool is_trainer = known != nullptr && known->role == Role::kTrainer;
    if (!is_trainer || !attendances_.on_no_join(peer, step_, now, waited)) {
        return exclude(now, peer, why, out, waited);
    }
    batch_.forget(peer);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(waited).count();
    out.note(peer.brief() + " " + why + ", after " + std::to_string(seconds) +
             " s: called again when it holds a micro-batch");
    out.send(peer, step_, *attendances_.assignment_of(peer));
}

}  // namespace dedloc::round
