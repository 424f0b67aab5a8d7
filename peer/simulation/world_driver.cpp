// World: driving a host's peer like net/reactor does. deliver() passes an event to Peer::handle and
// performs the returned actions one by one, so a hook can end the process between two of them.
// After each event it schedules the peer's next deadline.
//
// The peer's thread is busy while it digests an average and while it waits for the disk: then the
// actions that it has not performed wait, its machine reads nothing, and events wait in the inbox.
// go_on() ends that, and the time of a process that hangs. A host without such times never waits.
#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/simulation/node.hpp"
#include "peer/simulation/world.hpp"

namespace dedloc::simulation {
namespace {

constexpr std::uint32_t kMaxIdleTicks = 1'000;

}  // namespace

// --- events ------------------------------------------------------------------

void World::happened(Id id, const Event& event) {
    const auto* opened = std::get_if<event::LinkOpened>(&event);
    if (opened == nullptr || !proves_links_) return deliver(id, event);
    event::LinkOpened proven = *opened;
    const Id remote = network_.remote_of(opened->link);
    proven.proven = key(remote);
    const std::uint64_t user = node(remote).profile.user;
    proven.user = user > 0 ? user : 1 + remote;
    proven.max_samples_per_second = max_samples_per_second(remote);
    deliver(id, proven);
}

void World::deliver(Id id, const Event& event) {
    Node& host = node(id);
    if (!host.is_alive) return;
    if (host.is_hung || host.is_busy) {
        if (!std::holds_alternative<event::Tick>(event)) host.inbox.push_back(event);
        return;
    }
    if (!hooks_->takes_event(id, event)) deliver_to_peer(id, event);
}

void World::deliver_to_peer(Id id, const Event& event) {
    Node& host = node(id);
    hooks_->before_event(id, event);
    if (!host.is_alive) return;
    if (const auto* reached = std::get_if<event::StateReached>(&event)) {
        write_checkpoint(id, reached->step);
    }
    handle(id, event);
}

void World::handle(Id id, const Event& event) {
    Node& host = node(id);
    Actions actions;
    const TimePoint shown = host.clock.at(now());
    if (options_.observer != nullptr) options_.observer->handles(now(), id, event);
    host.peer->handle(shown, event, actions);
    if (options_.observer != nullptr) options_.observer->has_handled(now(), id, actions);
    host.actions = std::move(actions);
    host.performed = 0;
    if (!is_kept_busy_by_digests(id)) perform_rest(id);
}

/// Performs the actions of the last event that are left.
void World::perform_rest(Id id) {
    Node& host = node(id);
    for (std::size_t& i = host.performed; i < host.actions.size(); ++i) {
        const Action& action = host.actions[i];
        if (!std::exchange(host.is_written, false)) {
            hooks_->before_action(id, host.actions, i);
            if (!host.is_alive) return;
            if (host.profile.disk_latency > Duration{0} && writes(host, action)) {
                host.is_written = true;  // when it goes on
                return keep_busy(id, host.profile.disk_latency);
            }
        }
        hooks_->performs(id, action);
        if (!host.is_alive) return;
        perform(id, action);
        hooks_->after_action(id, host.actions, i);
        if (!host.is_alive) return;
    }
    host.actions.clear();
    host.performed = 0;
    hooks_->after_event(id);
    if (!host.is_alive) return;
    arm(id);
    work_ahead(id);
}

// --- a thread that is busy ---------------------------------------------------

/// Keeps the peer's thread busy for as long as it takes to digest what has been digested since the
/// last call. False: that is no time.
bool World::is_kept_busy_by_digests(Id id) {
    Node& host = node(id);
    const double rate = host.profile.digested_bytes_per_second;
    if (rate <= 0) return false;
    const std::uint64_t total = host.peer->digested_bytes();
    const std::uint64_t before = std::exchange(host.digested_bytes, total);
    const auto bytes = static_cast<double>(total - (before > total ? 0 : before));  // a new average
    const Duration time{static_cast<std::int64_t>(bytes / rate * 1e9)};
    if (time <= Duration{0}) return false;
    keep_busy(id, time);
    return true;
}

/// An idle thread digests what it can, one piece after the other, until there is an event.
void World::work_ahead(Id id) {
    Node& host = node(id);
    if (host.profile.digested_bytes_per_second <= 0 || !host.inbox.empty()) return;
    if (host.peer->work_ahead()) (void)is_kept_busy_by_digests(id);
}

void World::keep_busy(Id id, Duration time) {
    Node& host = node(id);
    host.is_busy = true;
    network_.set_reading(id, false);
    after(time, [this, id, life = host.life] {
        Node& then = node(id);
        if (!then.is_alive || then.life != life) return;
        then.is_busy = false;
        if (!then.is_hung) go_on(id);
    });
}

/// The thread has waited, and goes on with the actions and events that have waited for it.
void World::go_on(Id id) {
    Node& host = node(id);
    const std::uint64_t life = host.life;
    const auto is_free = [&] {
        return host.is_alive && host.life == life && !host.is_hung && !host.is_busy;
    };
    network_.set_reading(id, true);
    if (!host.actions.empty()) perform_rest(id);
    while (is_free() && !host.inbox.empty()) {
        const Event event = std::move(host.inbox.front());
        host.inbox.pop_front();
        deliver(id, event);
    }
    if (is_free()) deliver(id, event::Tick{});
}

void World::set_hung(Id id, bool is_hung) {
    Node& host = node(id);
    host.is_hung = is_hung;
    if (is_hung) return network_.set_reading(id, false);
    host.tick_at = kNever;
    if (!host.is_busy) go_on(id);
}

// --- deadlines ---------------------------------------------------------------

/// Schedules the next Tick. Of all scheduled ticks of a host only the one at tick_at is valid.
void World::arm(Id id) {
    Node& host = node(id);
    const TimePoint due = host.clock.when_shows(host.peer->next_deadline());
    if (due == kNever || due >= host.tick_at) return;
    host.tick_at = std::max(due, now() + std::chrono::microseconds{1});
    timeline_.at(host.tick_at, What::kTick, id, host.life);
}

void World::tick(Id id, const Moment& moment) {
    Node& host = node(id);
    if (!host.is_alive || host.life != moment.detail || host.tick_at != moment.when) return;
    host.tick_at = kNever;
    if (host.is_busy) return;  // go_on() brings the next one
    const TimePoint due = host.clock.when_shows(host.peer->next_deadline());
    if (due > now()) return arm(id);
    deliver(id, event::Tick{});
    if (host.is_alive && !host.is_busy && host.peer->next_deadline() <= host.clock.at(now())) {
        DEDLOC_CHECK(++host.idle_ticks < kMaxIdleTicks,
                     "a peer keeps a deadline in the past after its ticks", id);
    } else {
        host.idle_ticks = 0;
    }
}

}  // namespace dedloc::simulation
