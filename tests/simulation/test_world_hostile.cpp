// TestWorld: hosts of hostile peers. Frames that the peer sends and events that it receives pass
// through the adversary. The adversary's own actions go to the network directly, without the checks
// that honest peers must pass. Its actions on an event are performed before the peer handles that
// event.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/simulation/node.hpp"
#include "tests/simulation/test_world.hpp"

namespace dedloc::simulation {
namespace {

/// A key that comes before nearly all others: one of sixteen begins with four zero bits.
KeyPair low_key(std::uint64_t seed, NodeId id) {
    Random random = Random{seed}.split(4'000'000 + id);
    while (true) {
        std::array<std::byte, 32> bytes;
        for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
        KeyPair key = KeyPair::from_seed(bytes);
        if (key.public_key().bytes[0] < std::byte{16}) return key;
    }
}

}  // namespace

TestWorld::Id TestWorld::add_hostile(hostile::Misbehaviour misbehaviour, const Profile& profile,
                                     Role role) {
    DEDLOC_CHECK(profile.disk_latency == Duration{0} && profile.digested_bytes_per_second == 0,
                 "a hostile host has no disk or digests that take time");
    const Id id = add(role, profile);
    Node& host = node(id);
    trials_[id].misbehaviour = misbehaviour;
    host.is_awaited = false;
    if (misbehaviour == hostile::Misbehaviour::kKeySquat) host.key = low_key(seed(), id);
    if (misbehaviour == hostile::Misbehaviour::kGhostSamples) {  // its ticket is a forged device's
        host.profile.max_samples_per_second = options().rules.max_samples_per_second;
    }
    checkers_.set_hostile(key(id), max_samples_per_second(id));
    if (misbehaviour == hostile::Misbehaviour::kClosedWindow) network().never_acknowledge(id);
    start(id);
    return id;
}

bool TestWorld::is_hostile(Id id) const {
    return trials_[id].misbehaviour.has_value();
}

void TestWorld::starts(NodeId id) {
    Trial& trial = trials_[id];
    trial.was_killed = trial.has_flip_coming = trial.has_left = false;
    trial.refusal.clear();
    trial.kill_point.reset();
    trial.loads = 0;
    if (!trial.misbehaviour) return;
    trial.adversary = std::make_unique<hostile::Adversary>(
        hostile::AdversarySettings{
            .misbehaviour = *trial.misbehaviour,
            .max_samples_per_second = max_samples_per_second(id),
            .elements = options().rules.elements,
            .random_seed = Random{seed()}.split(3'000'000 + id).split(node(id).life).next(),
            .flood_per_second = settings_.flood_per_second},
        node(id).key);
}

bool TestWorld::takes_event(NodeId id, const Event& event) {
    const Trial& trial = trials_[id];
    if (trial.adversary == nullptr) return false;
    std::vector<Event> events;
    Actions actions;
    trial.adversary->receive(now(), event, events, actions);
    // These frames go before the peer's answers, whose frames have higher sequence numbers.
    if (!trial.has_left) act_as_adversary(id, actions);
    for (const Event& for_peer : events) {
        if (is_alive(id)) deliver_to_peer(id, for_peer);
    }
    return true;
}

bool TestWorld::takes_frame(NodeId id, const action::Send& send) {
    const Trial& trial = trials_[id];
    if (trial.adversary == nullptr) return false;
    Actions actions;
    trial.adversary->send(now(), send, actions);
    for (const StepIndex step : trial.adversary->garbled_steps()) checkers_.distrust_average(step);
    act_as_adversary(id, actions);
    return true;
}

void TestWorld::act_as_adversary(Id id, const Actions& actions) {
    for (const Action& action : actions) {
        if (!is_alive(id)) return;
        if (const auto* sent = std::get_if<action::Send>(&action)) {
            put_on_link(sent->link, sent->frame);
        } else if (const auto* dial = std::get_if<action::Dial>(&action)) {
            network().dial(id, dial->remote);
        } else if (const auto* close = std::get_if<action::Close>(&action)) {
            network().close(close->link);
        }
    }
}

}  // namespace dedloc::simulation
