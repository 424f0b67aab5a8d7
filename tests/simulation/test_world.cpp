// TestWorld: the hooks of an honest host. The trace records each event and action first, as its
// hash is the history; then the checkers see it, before the world performs it. Kill points are
// asked in the order of events and actions. Faults that the world does not know act here: a full
// disk, a flipped bit, a corrupted frame.
#include "tests/simulation/test_world.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "peer/base/overloaded.hpp"
#include "peer/simulation/node.hpp"
#include "peer/state/model_state.hpp"
#include "peer/wire/limits.hpp"
#include "tests/hostile/forgery.hpp"

namespace dedloc::simulation {
namespace {

/// Bytes that a peer may queue at a link in addition to bulk data: plans, and the heartbeats of a
/// failure timeout.
constexpr std::uint64_t kControlBytes = 2 * wire::kMaxFrameBytes;

/// Options with these rules.
TestWorldOptions options_with(const RoundRules& rules) {
    TestWorldOptions options;
    options.rules = rules;
    return options;
}

}  // namespace

TestWorld::TestWorld(std::uint64_t seed, const RoundRules& rules)
    : TestWorld(seed, options_with(rules)) {}

TestWorld::TestWorld(std::uint64_t seed, const TestWorldOptions& options)
    : World(seed, options),
      settings_(options),
      checkers_(
          {.run = run(),
           .project = key_of(seed, 0).public_key(),
           .backbone = key_of(seed, 1).public_key(),
           .scalars_of =
               [](StepIndex step) { return state::update_scalars(simulated_optimizer(), step); },
           .codec = options.rules.codec,
           .target_batch = options.rules.target_batch,
           .overlaps = options.rules.overlaps,
           .computes_averages = options.computes_averages}) {
    if (options.keeps_whole_trace) trace_.keep_all();
    for (const auto& [number, generation] : signed_generations()) {
        checkers_.generation_signed(generation);
        checkers_.generation_begun(generation);
    }
    attach(*this);
}

TestWorld::~TestWorld() = default;

// --- hooks -------------------------------------------------------------------

void TestWorld::added(NodeId) {
    trials_.emplace_back();
}

void TestWorld::before_event(NodeId id, const Event& event) {
    const Node& host = node(id);
    Trial& trial = trials_[id];
    trace_.event(now(), id, event);
    if (std::holds_alternative<event::ReturnRequested>(event)) trial.has_left = false;
    if (const auto* reached = std::get_if<event::StateReached>(&event)) {
        if (!host.trainer->is_tainted(reached->digest)) {
            checkers_.reached(host.state_generation, reached->step, reached->digest);
        }
    }
    if (trial.kill_point && trial.kill_point->is_before(event)) return die_at_point(id);
    // Read the residual first: a lone peer decides the round while it handles this event.
    if (const auto* frozen = std::get_if<event::ContributionFrozen>(&event)) {
        checkers_.amended(key(id), *frozen, host.peer->residual());
    }
}

void TestWorld::after_event(NodeId id) {
    Trial& trial = trials_[id];
    if (trial.kill_point && trial.kill_point->is_after_event()) return die_at_point(id);
    if (settings_.checks_invariants) node(id).peer->check_invariants();
}

void TestWorld::before_action(NodeId id, const Actions& actions, std::size_t i) {
    Trial& trial = trials_[id];
    if (trial.kill_point && trial.kill_point->is_before(actions, i)) die_at_point(id);
}

void TestWorld::performs(NodeId id, const Action& action) {
    const Node& host = node(id);
    trace_.action(now(), id, action);
    if (host.disk.is_full && writes(host, action)) {
        note(id, "cannot write: the disk is full");
        return crash(id);
    }
    check(id, action);
}

void TestWorld::after_action(NodeId id, const Actions& actions, std::size_t i) {
    if (const auto* send = std::get_if<action::Send>(&actions[i])) check_queue(id, *send);
    Trial& trial = trials_[id];
    if (!node(id).is_alive) return;
    if (trial.kill_point && trial.kill_point->is_after(actions, i)) die_at_point(id);
}

void TestWorld::check(Id id, const Action& action) {
    const Node& host = node(id);
    Trial& trial = trials_[id];
    std::visit(
        Overloaded{
            [&](const action::Dial& a) {
                if (!hostile::is_storm_endpoint(a.remote)) return;
                throw Violation{fmt::format("peer {} dials {}, which only an adversary has named",
                                            id, a.remote.text())};
            },
            [&](const action::Send&) {
                if (!trial.has_left) return;
                throw Violation{fmt::format("peer {} sends a frame after it has left", id)};
            },
            [&](const action::Apply& a) {
                checkers_.applies(host.generation, a);
                flip_if_noticed(id);
            },
            [&](const action::Load& a) {
                checkers_.loads(host.generation, a);
                ++trial.loads;
            },
            [&](const action::Committed& a) { checkers_.committed(a, now(), jumps_); },
            [&](const action::GenerationBegun& a) { checkers_.generation_begun(a.generation); },
            [&](const action::TurnChanged& a) {
                trial.turn = a.kind;
                checkers_.has_turn(key(id), a.kind);
            },
            [&](const action::Settled& a) { settled_.push_back(a); },
            [&](const action::SwarmSeen& a) { trial.coordinator = a.coordinator; },
            [&](const action::Refused& a) { trial.refusal = a.reason; },
            [&](const action::Left&) { trial.has_left = true; },
            [&](const action::Note& a) {
                if (a.suspect && !is_hostile(id)) ++accusations_[*a.suspect];
            },
            [](const auto&) {},
        },
        action);
}

void TestWorld::check_queue(Id id, const action::Send& send) const {
    if (is_hostile(id) || !settings_.checks_bytes_queued) return;
    const std::uint64_t queued = network().queued_bytes(send.link);
    if (queued > options().rules.window_bytes + kControlBytes) {
        throw Violation{fmt::format("peer {} has {} bytes queued at one link", id, queued)};
    }
}

void TestWorld::flip_if_noticed(Id id) {
    Trial& trial = trials_[id];
    if (!trial.has_flip_coming || !is_damage_noticed(id)) return;
    trial.has_flip_coming = false;
    note(id, "a bit of its parameters flips");
    node(id).trainer->flip_a_bit();
}

SharedBytes TestWorld::transmits(LinkId link, SharedBytes frame) {
    if (corruption_ <= 0 || random().uniform() >= corruption_) return frame;
    if (proves_links()) {
        network().cut(link);
        return nullptr;
    }
    auto bad = std::make_shared<Buffer>(*frame);
    (*bad)[random().below(bad->size())] ^= static_cast<std::byte>(1 + random().below(255));
    return bad;
}

void TestWorld::frozen(NodeId id, const Frozen& frozen) {
    checkers_.frozen(key(id), frozen, trainer(id).is_tainted());
}

void TestWorld::generation_signed(const SignedGeneration& generation) {
    checkers_.generation_signed(generation);
}

void TestWorld::noted(NodeId id, const std::string& line) {
    trace_.note(now(), id, line);
}

void TestWorld::failed(const std::exception& error) {
    if (dynamic_cast<const Violation*>(&error) == nullptr) return;
    throw Violation{fmt::format("{}\n{}", error.what(), describe())};
}

// --- observation -------------------------------------------------------------

bool TestWorld::is_alive(Id id) const {
    return node(id).is_alive;
}
bool TestWorld::is_damaged(Id id) const {
    return is_alive(id) && trainer(id).is_tainted();
}
bool TestWorld::is_finished(Id id) const {
    return node(id).is_finished;
}
bool TestWorld::has_left(Id id) const {
    return trials_[id].has_left;
}
bool TestWorld::is_refused(Id id) const {
    return !trials_[id].refusal.empty();
}
Digest TestWorld::digest(Id id) const {
    return trainer(id).state().digest();
}
bool TestWorld::is_paused(Id id) const {
    return is_paused_at(node(id).pause_count);
}
TurnKind TestWorld::turn(Id id) const {
    return trials_[id].turn;
}
std::uint64_t TestWorld::queued_bytes(Id id) const {
    std::uint64_t bytes = 0;
    for (const LinkId link : network().links_of(id)) bytes += network().queued_bytes(link);
    return bytes;
}
std::uint64_t TestWorld::loads(Id id) const {
    return trials_[id].loads;
}
std::size_t TestWorld::ledger_length(Id id) const {
    return node(id).disk.ledger.size();
}
std::size_t TestWorld::accusations(Id id) const {
    const auto found = accusations_.find(key(id));
    return found == accusations_.end() ? 0 : found->second;
}
std::optional<TestWorld::Id> TestWorld::coordinator() const {
    for (Id id = 0; id < size(); ++id) {
        const auto found = is_up(id) ? find(trials_[id].coordinator) : std::nullopt;
        if (found) return found;
    }
    return std::nullopt;
}

std::string TestWorld::describe() const {
    std::string text = fmt::format(
        "seed {}, {} links, {:.6f} s, {} records of generation {}\nreplay: {}\n", seed(),
        proves_links() ? "proven" : "unproven", seconds_of(now().time_since_epoch()),
        checkers_.record_count(), checkers_.generation(), settings_.replay);
    for (Id id = 0; id < size(); ++id) {
        const Node& host = node(id);
        text += fmt::format(
            "  {:3} {} {}{}{}{}{}{} generation {} step {}\n", id, key(id).brief(),
            host.role == Role::kBackbone  ? "backbone"
            : host.role == Role::kTrainer ? "trainer"
                                          : "aggregator",
            is_hostile(id) ? fmt::format(", {}", name_of(*trials_[id].misbehaviour)) : "",
            host.profile.connection.is_outbound_only ? ", outbound only" : "",
            host.is_alive ? "" : ", dead", host.is_hung ? ", hangs" : "",
            host.is_leaving ? ", suspended" : "", host.generation,
            has_state(id) ? std::to_string(step(id).value()) : "-");
    }
    for (const std::string& line : trace_.last_lines()) text += line + "\n";
    return text;
}

}  // namespace dedloc::simulation
