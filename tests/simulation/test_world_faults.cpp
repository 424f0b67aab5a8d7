// TestWorld: the faults, one method each. A fault acts on the host's record, its process or its
// links at once, and adds a line to the trace; what takes effect later is in a host's Trial, which
// the hooks read.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/membership/quorum.hpp"
#include "peer/simulation/node.hpp"
#include "tests/simulation/test_world.hpp"

namespace dedloc::simulation {

void TestWorld::crash(Id id, Exit exit) {
    Node& host = node(id);
    if (!host.is_alive) return;
    note(id, exit == Exit::kSilent ? "its machine crashes" : "its process crashes");
    host.is_alive = false;
    host.is_hung = false;
    network().stop(id, exit);
}

void TestWorld::kill(Id id, Point point, StepIndex step, Exit exit) {
    trials_[id].kill_point.emplace(point, step, key(id));
    trials_[id].kill_exit = exit;
}

void TestWorld::spare(Id id) {
    if (!trials_[id].was_killed) trials_[id].kill_point.reset();
}

std::optional<StepIndex> TestWorld::killed_in(Id id) const {
    if (!trials_[id].was_killed) return std::nullopt;
    return trials_[id].kill_point->round();
}

void TestWorld::die_at_point(Id id) {
    Trial& trial = trials_[id];
    note(id, fmt::format("dies {}", name_of(trial.kill_point->point())));
    crash(id, trial.kill_exit);
    trial.was_killed = true;
}

void TestWorld::hang(Id id) {
    if (!node(id).is_alive || node(id).is_hung) return;
    note(id, "hangs");
    set_hung(id, true);
}

void TestWorld::wake(Id id) {
    if (!node(id).is_alive || !node(id).is_hung) return;
    note(id, "wakes");
    set_hung(id, false);
}

void TestWorld::suspend(Id id) {
    Node& host = node(id);
    if (!host.is_alive || host.is_hung || host.is_leaving) return;
    note(id, "is suspended");
    host.is_leaving = true;
    const TimePoint due = host.clock.at(now()) + options().rules.leave_limit;
    const Duration wait = host.clock.when_shows(due) - now() + std::chrono::milliseconds{1};
    deliver(id, event::LeaveRequested{});
    after(wait, [this, id, life = host.life] { check_leaving(id, life); });
}

void TestWorld::check_leaving(Id id, std::uint64_t life) const {
    const Node& host = node(id);
    if (!host.is_alive || host.is_hung || host.life != life || !host.is_leaving) return;
    if (!trials_[id].has_left) throw Violation{fmt::format("peer {} takes too long to leave", id)};
}

void TestWorld::resume(Id id) {
    Node& host = node(id);
    if (!host.is_alive || !host.is_leaving) return;
    note(id, "is resumed");
    host.is_leaving = false;
    deliver(id, event::ReturnRequested{});  // a process that hangs handles it when it wakes
}

void TestWorld::set_dialable(Id id, bool is_dialable) {
    Node& host = node(id);
    note(id, is_dialable ? "can be dialled" : "cannot be dialled");
    host.profile.connection.is_outbound_only = !is_dialable;
    network().set_dialable(id, is_dialable);
    if (!host.is_alive || host.is_hung) return;
    const std::uint16_t port = is_dialable ? host.endpoint.port : std::uint16_t{0};
    deliver(id, event::ListeningPortChanged{port});
}

void TestWorld::jump_clock(Id id, Duration step) {
    Node& host = node(id);
    if (!host.is_alive || host.is_hung) return;
    note(id, "its clock jumps");
    host.clock.jump(now(), step);
    jumps_ += step;
    deliver(id, event::Tick{});
}

void TestWorld::partition(const std::vector<Id>& side) {
    note(side.empty() ? 0 : side.front(),
         fmt::format("a side of {} hosts is cut off from the others", side.size()));
    for (const Id id : side) network().set_group(id, 1);
}

void TestWorld::heal() {
    for (Id id = 0; id < size(); ++id) {
        network().set_group(id, 0);
        for (Id other = 0; other < size(); ++other) network().set_blocked(id, other, false);
    }
}

void TestWorld::part(Id one, Id other) {
    note(one, fmt::format("can no longer reach {}", other));
    network().set_blocked(one, other, true);
    network().set_blocked(other, one, true);
}

void TestWorld::block(Id from, Id to, bool is_blocked) {
    note(from,
         fmt::format("{} {}", is_blocked ? "its frames no longer reach" : "its frames reach again",
                     to));
    network().set_blocked(from, to, is_blocked);
}

void TestWorld::scale_bandwidth(Id id, double factor) {
    const Connection& connection = node(id).profile.connection;
    note(id, fmt::format("has {:.2f} times its bandwidth", factor));
    network().set_bandwidth(id, factor * connection.upload_bytes_per_second,
                            factor * connection.download_bytes_per_second);
}

void TestWorld::cut(Id id, std::uint64_t which) {
    const auto links = network().links_of(id);
    if (links.empty()) return;
    const LinkId link = links[which % links.size()];
    note(id, fmt::format("loses its link to {}", network().remote_of(link)));
    network().cut(link);
}

void TestWorld::silent_cut(Id id, std::uint64_t which) {
    const auto links = network().links_of(id);
    if (links.empty()) return;
    const LinkId link = links[which % links.size()];
    note(id, fmt::format("silently loses its link to {}", network().remote_of(link)));
    network().silent_cut(link);
}

void TestWorld::fill_disk(Id id, bool is_full) {
    node(id).disk.is_full = is_full;
}

void TestWorld::poison(Id id) {
    note(id, "its next gradient will not be finite");
    node(id).trainer->poison();
}
void TestWorld::flip_a_bit(Id id) {
    note(id, "a bit of its parameters will flip in an update");
    trials_[id].has_flip_coming = true;
}
/// Whether the other voters that are up and undamaged are a majority of all voters.
bool TestWorld::is_damage_noticed(Id id) const {
    const std::vector<PeerKey> voters = checkers_.voters_of(node(id).generation);
    std::vector<PeerKey> sound;
    for (Id other = 0; other < size(); ++other) {
        const Node& host = node(other);
        if (!host.is_alive) continue;
        if (is_damaged(other) || trials_[other].kill_point || host.disk.is_full) return false;
        const bool is_voter = std::find(voters.begin(), voters.end(), key(other)) != voters.end();
        if (other != id && is_voter && is_up(other) && has_state(other)) {
            sound.push_back(key(other));
        }
    }
    std::sort(sound.begin(), sound.end());
    return membership::is_majority(voters, sound);
}

}  // namespace dedloc::simulation
