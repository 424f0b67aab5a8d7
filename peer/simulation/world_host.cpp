// World: performing a peer's actions (perform()), the simulated directory and project, the faults,
// and the queries of a host's state. The directory and the project answer by timed callbacks that
// check the host's life.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/simulation/node.hpp"
#include "peer/simulation/world.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::simulation {
namespace {

constexpr Duration kSigningTime = std::chrono::milliseconds{500};
/// Bytes that a peer may queue at a link in addition to bulk data: plans, and the heartbeats of a
/// failure timeout.
constexpr std::uint64_t kControlBytes = 2 * wire::kMaxFrameBytes;

template <class... Handlers>
struct ActionHandlers : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
ActionHandlers(Handlers...) -> ActionHandlers<Handlers...>;  // clang 14 needs it

}  // namespace

// --- actions of a peer -------------------------------------------------------

void World::perform(Id id, const Action& action) {
    Node& host = node(id);
    if (writes(host, action)) do_write(id, action);
    if (!host.is_alive) return;
    std::visit(ActionHandlers{
                   [&](const action::Dial& a) { do_dial(id, a); },
                   [&](const action::Send& a) { do_send(id, a); },
                   [&](const action::Close& a) { network_.close(a.link); },
                   [&](const action::Apply& a) {
                       checkers_.applies(host.generation, a);
                       host.state_generation = host.generation;
                       if (host.has_flip_coming && is_damage_noticed(id)) {
                           host.has_flip_coming = false;
                           note(id, "a bit of its parameters flips");
                           host.trainer->flip_a_bit();
                       }
                       host.trainer->perform(a);
                   },
                   [&](const action::Load& a) {
                       checkers_.loads(host.generation, a);
                       ++host.loads;
                       host.state_generation = host.generation;
                       host.trainer->perform(a);
                   },
                   [](const action::Voted&) {},
                   [&](const action::Committed& a) { checkers_.committed(a, now(), jumps_); },
                   [&](const action::GenerationBegun& a) {
                       checkers_.generation_begun(a.generation);
                       host.generation = a.generation.record.generation;
                   },
                   [&](const action::GenerationWanted& a) { sign(id, a.record); },
                   [&](const action::PauseChanged& a) { host.pause_count = a.pause.count; },
                   [](const action::RevocationsHeard&) {},
                   [&](const action::TurnChanged& a) {
                       host.attendance = a.attendance;
                       checkers_.has_turn(host.key.public_key(), a.attendance);
                   },
                   [&](const action::ReadHistory& a) { read_history(id, a); },
                   [&](const action::Settled& a) { settled_.push_back(a); },
                   [&](const action::SwarmSeen& a) { host.coordinator = a.coordinator; },
                   [&](const action::Finished&) { host.is_finished = true; },
                   [&](const action::Refused& a) { host.refusal = a.reason; },
                   [&](const action::Left&) { host.has_left = true; },
                   [&](const action::Note& a) {
                       if (a.suspect && !is_hostile(id)) ++accusations_[*a.suspect];
                   },
                   [&](const auto& a) { host.trainer->perform(a); },
               },
               action);
}

void World::do_dial(Id id, const action::Dial& dial) {
    if (hostile::is_storm_endpoint(dial.remote)) {
        throw Violation{fmt::format("peer {} dials {}, which only an adversary has named", id,
                                    dial.remote.text())};
    }
    network_.dial(id, dial.remote);
}

void World::do_send(Id id, const action::Send& send) {
    if (node(id).has_left) {
        throw Violation{fmt::format("peer {} sends a frame after it has left", id)};
    }
    if (is_hostile(id)) return send_through_adversary(id, send);
    put_on_link(send.link, send.frame);
    const std::uint64_t most = options_.rules.window_bytes + kControlBytes;
    if (options_.checks_bytes_queued && network_.queued_bytes(send.link) > most) {
        throw Violation{fmt::format("peer {} has {} bytes queued at one link", id,
                                    network_.queued_bytes(send.link))};
    }
}

void World::put_on_link(LinkId link, const Frame& sent) {
    SharedBytes frame = sent.whole();
    if (corruption_ > 0 && random_.uniform() < corruption_) {
        if (proves_links_) return network_.cut(link);
        auto bad = std::make_shared<Buffer>(*frame);
        (*bad)[random_.below(bad->size())] ^= static_cast<std::byte>(1 + random_.below(255));
        frame = std::move(bad);
    }
    network_.send(link, std::move(frame));
}

SignedGeneration World::signed_by_project(const GenerationRecord& record) const {
    return {record, project_.sign(digest_of(run_, record).bytes)};
}

void World::sign(Id id, const GenerationRecord& wanted) {
    note(id,
         fmt::format("wants generation {} from step {}", wanted.generation, wanted.step.value()));
    if (!options_.auto_sign) return;
    const auto [it, is_new] = signed_.emplace(wanted.generation, signed_by_project(wanted));
    // The project signs each generation once; a repeated request gets the same signed generation.
    if (is_new) checkers_.generation_signed(it->second);
    after(kSigningTime, [this, id, life = node(id).life, answer = it->second] {
        if (node(id).life == life) deliver(id, event::GenerationSigned{answer});
    });
}

void World::answer_directory(Id id) {
    // The answer names every peer that has ever started, as a real directory forgets peers slowly.
    const double chance = random_.uniform();
    std::vector<Endpoint> found;
    for (const auto& other : nodes_) {
        if (other->life == 0 || other->profile.connection.is_outbound_only) continue;
        if (directory_.partial > 0 && random_.uniform() < directory_.partial) continue;
        found.push_back(other->endpoint);
    }
    for (std::size_t i = found.size(); i > 1; --i) std::swap(found[i - 1], found[random_.below(i)]);
    if (found.size() > options_.directory_answer) {
        found.resize(options_.directory_answer);
        // The project's signed head is in every answer, and it names the backbone.
        if (nodes_.front()->life != 0) found.push_back(nodes_.front()->endpoint);
    }
    if (random_.uniform() < directory_.stale) found.push_back({"10.255.0.1", 4'000});
    const Event event = event::EndpointsFound{std::move(found)};
    if (chance >= directory_.missing) {
        deliver(id, event);
        if (random_.uniform() < directory_.duplicate) deliver(id, event);
    }
    const auto life = node(id).life;
    const auto stagger = std::chrono::milliseconds{random_.below(100)};
    after(options_.directory_interval + stagger, [this, id, life] {
        if (node(id).is_alive && node(id).life == life) answer_directory(id);
    });
}

// --- faults ------------------------------------------------------------------

void World::crash(Id id, Exit exit) {
    Node& host = node(id);
    if (!host.is_alive) return;
    note(id, exit == Exit::kSilent ? "its machine crashes" : "its process crashes");
    host.is_alive = false;
    host.is_hung = false;
    network_.stop(id, exit);
}

void World::kill(Id id, Point point, StepIndex step, Exit exit) {
    node(id).kill_point.emplace(point, step, key(id));
    node(id).kill_exit = exit;
}

void World::spare(Id id) {
    if (!node(id).was_killed) node(id).kill_point.reset();
}

std::optional<StepIndex> World::killed_in(Id id) const {
    if (!node(id).was_killed) return std::nullopt;
    return node(id).kill_point->round();
}

void World::suspend(Id id) {
    Node& host = node(id);
    if (!host.is_alive || host.is_hung || host.is_leaving) return;
    note(id, "is suspended");
    host.is_leaving = true;
    const TimePoint due = host.clock.at(now()) + options_.rules.leave_limit;
    const Duration wait = host.clock.when_shows(due) - now() + std::chrono::milliseconds{1};
    deliver(id, event::LeaveRequested{});
    after(wait, [this, id, life = host.life] { check_leaving(id, life); });
}

void World::check_leaving(Id id, std::uint64_t life) {
    const Node& host = node(id);
    if (!host.is_alive || host.is_hung || host.life != life || !host.is_leaving) return;
    if (!host.has_left) throw Violation{fmt::format("peer {} takes too long to leave", id)};
}

void World::resume(Id id) {
    Node& host = node(id);
    if (!host.is_alive || !host.is_leaving) return;
    note(id, "is resumed");
    host.is_leaving = false;
    deliver(id, event::ReturnRequested{});  // a process that hangs handles it when it wakes
}

void World::set_dialable(Id id, bool is_dialable) {
    Node& host = node(id);
    note(id, is_dialable ? "can be dialled" : "cannot be dialled");
    host.profile.connection.is_outbound_only = !is_dialable;
    network_.set_dialable(id, is_dialable);
    if (!host.is_alive || host.is_hung) return;
    const std::uint16_t port = is_dialable ? host.endpoint.port : std::uint16_t{0};
    deliver(id, event::ListeningPortChanged{port});
}

void World::jump_clock(Id id, Duration step) {
    Node& host = node(id);
    if (!host.is_alive || host.is_hung) return;
    note(id, "its clock jumps");
    host.clock.jump(now(), step);
    jumps_ += step;
    deliver(id, event::Tick{});
}

void World::partition(const std::vector<Id>& side) {
    note(side.empty() ? 0 : side.front(),
         fmt::format("a side of {} hosts is cut off from the others", side.size()));
    for (const Id id : side) network_.set_group(id, 1);
}

void World::heal() {
    for (Id id = 0; id < nodes_.size(); ++id) {
        network_.set_group(id, 0);
        for (Id other = 0; other < nodes_.size(); ++other) network_.set_blocked(id, other, false);
    }
}

void World::part(Id one, Id other) {
    note(one, fmt::format("can no longer reach {}", other));
    network_.set_blocked(one, other, true);
    network_.set_blocked(other, one, true);
}

void World::block(Id from, Id to, bool is_blocked) {
    note(from,
         fmt::format("{} {}", is_blocked ? "its frames no longer reach" : "its frames reach again",
                     to));
    network_.set_blocked(from, to, is_blocked);
}

void World::scale_bandwidth(Id id, double factor) {
    const Connection& connection = node(id).profile.connection;
    note(id, fmt::format("has {:.2f} times its bandwidth", factor));
    network_.set_bandwidth(id, factor * connection.upload_bytes_per_second,
                           factor * connection.download_bytes_per_second);
}

void World::cut(Id id, std::uint64_t which) {
    const auto links = network_.links_of(id);
    if (links.empty()) return;
    const LinkId link = links[which % links.size()];
    note(id, fmt::format("loses its link to {}", network_.remote_of(link)));
    network_.cut(link);
}

void World::silent_cut(Id id, std::uint64_t which) {
    const auto links = network_.links_of(id);
    if (links.empty()) return;
    const LinkId link = links[which % links.size()];
    note(id, fmt::format("silently loses its link to {}", network_.remote_of(link)));
    network_.silent_cut(link);
}

void World::poison(Id id) {
    note(id, "its next gradient will not be finite");
    node(id).trainer->poison();
}
void World::flip_a_bit(Id id) {
    note(id, "a bit of its parameters will flip in an update");
    node(id).has_flip_coming = true;
}
/// Whether the other voters that are up and undamaged are a majority of all voters.
bool World::is_damage_noticed(Id id) const {
    const std::vector<PeerKey> voters = checkers_.voters_of(node(id).generation);
    std::vector<PeerKey> sound;
    for (Id other = 0; other < nodes_.size(); ++other) {
        const Node& host = node(other);
        if (!host.is_alive) continue;
        if (is_damaged(other) || host.kill_point || host.disk.is_full) return false;
        const bool is_voter = std::find(voters.begin(), voters.end(), key(other)) != voters.end();
        if (other != id && is_voter && is_up(other) && has_state(other)) {
            sound.push_back(key(other));
        }
    }
    std::sort(sound.begin(), sound.end());
    return membership::is_majority(voters, sound);
}

void World::note(Id id, const std::string& line) {
    trace_.note(now(), id, line);
}

// --- observation -------------------------------------------------------------

bool World::is_alive(Id id) const {
    return node(id).is_alive;
}
bool World::is_up(Id id) const {
    return node(id).is_alive && !node(id).is_hung && !node(id).is_leaving;
}
bool World::is_damaged(Id id) const {
    return is_alive(id) && trainer(id).is_tainted();
}
bool World::is_finished(Id id) const {
    return node(id).is_finished;
}
bool World::has_left(Id id) const {
    return node(id).has_left;
}
bool World::is_refused(Id id) const {
    return !node(id).refusal.empty();
}
bool World::has_state(Id id) const {
    return node(id).trainer != nullptr && node(id).trainer->has_state();
}
StepIndex World::step(Id id) const {
    return has_state(id) ? trainer(id).state().step() : StepIndex{0};
}
Digest World::digest(Id id) const {
    return trainer(id).state().digest();
}
bool World::is_paused(Id id) const {
    return is_paused_at(node(id).pause_count);
}
Attendance World::attendance(Id id) const {
    return node(id).attendance;
}
std::uint64_t World::queued_bytes(Id id) const {
    std::uint64_t bytes = 0;
    for (const LinkId link : network_.links_of(id)) bytes += network_.queued_bytes(link);
    return bytes;
}

std::uint64_t World::loads(Id id) const {
    return node(id).loads;
}
std::size_t World::ledger_length(Id id) const {
    return node(id).disk.ledger.size();
}
bool World::are_all_at(StepIndex wanted) const {
    for (Id id = 0; id < nodes_.size(); ++id) {
        if (!is_up(id) || !node(id).profile.receives || is_hostile(id)) continue;
        // A peer that arrives after the end of the run need not fetch its last state.
        if (node(id).is_finished && node(id).role != Role::kBackbone) continue;
        if (!has_state(id) || step(id) < wanted) return false;
    }
    return true;
}
const VirtualTrainer& World::trainer(Id id) const {
    return *node(id).trainer;
}
const PeerKey& World::key(Id id) const {
    return node(id).key.public_key();
}
std::size_t World::accusations(Id id) const {
    const auto found = accusations_.find(key(id));
    return found == accusations_.end() ? 0 : found->second;
}
Role World::role(Id id) const {
    return node(id).role;
}
std::optional<World::Id> World::find(const PeerKey& wanted) const {
    for (Id id = 0; id < nodes_.size(); ++id) {
        if (key(id) == wanted) return id;
    }
    return std::nullopt;
}
std::optional<World::Id> World::coordinator() const {
    for (Id id = 0; id < nodes_.size(); ++id) {
        const auto found = is_up(id) ? find(node(id).coordinator) : std::nullopt;
        if (found) return found;
    }
    return std::nullopt;
}

}  // namespace dedloc::simulation
