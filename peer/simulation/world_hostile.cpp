// World: hosts of hostile peers. Frames that the peer sends and events that it receives pass
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
#include "peer/simulation/world.hpp"

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

World::Id World::add_hostile(hostile::Misbehaviour misbehaviour, const Profile& profile,
                             Role role) {
    DEDLOC_CHECK(profile.disk_latency == Duration{0} && profile.digested_bytes_per_second == 0,
                 "a hostile host has no disk or digests that take time");
    const Id id = add(role, profile);
    node(id).misbehaviour = misbehaviour;
    if (misbehaviour == hostile::Misbehaviour::kKeySquat) node(id).key = low_key(seed_, id);
    checkers_.set_hostile(key(id), max_samples_per_second(id));
    if (misbehaviour == hostile::Misbehaviour::kClosedWindow) network_.never_acknowledge(id);
    start(id);
    return id;
}

bool World::is_hostile(Id id) const {
    return node(id).misbehaviour.has_value();
}

/// The sample rate that the peer's ticket allows: four times what its device computes; for ghost
/// samples that of a forged device. Without proven links there are no tickets, and the run's limit
/// applies.
std::uint64_t World::max_samples_per_second(Id id) const {
    const bool is_forged = node(id).misbehaviour == hostile::Misbehaviour::kGhostSamples;
    if (is_forged || !proves_links_) return options_.rules.max_samples_per_second;
    const Profile& profile = node(id).profile;
    const std::chrono::duration<double> time = profile.micro_batch_time;
    return 1 + static_cast<std::uint64_t>(4 * static_cast<double>(profile.micro_batch) /
                                          std::max(time.count(), 1e-3));
}

void World::start_adversary(Id id) {
    Node& host = node(id);
    if (!host.misbehaviour) return;
    host.adversary = std::make_unique<hostile::Adversary>(
        hostile::AdversarySettings{
            .misbehaviour = *host.misbehaviour,
            .max_samples_per_second = max_samples_per_second(id),
            .elements = options_.rules.elements,
            .random_seed = Random{seed_}.split(3'000'000 + id).split(host.life).next(),
            .flood_per_second = options_.flood_per_second},
        host.key);
}

void World::deliver_to_adversary(Id id, const Event& event) {
    Node& host = node(id);
    std::vector<Event> events;
    Actions actions;
    host.adversary->receive(now(), event, events, actions);
    // These frames go before the peer's answers, whose frames have higher sequence numbers.
    if (!host.has_left) act_as_adversary(host, id, actions);
    for (const Event& for_peer : events) {
        if (host.is_alive) deliver_to_peer(id, for_peer);
    }
}

void World::send_through_adversary(Id id, const action::Send& send) {
    const Node& host = node(id);
    Actions actions;
    host.adversary->send(now(), send, actions);
    for (const StepIndex step : host.adversary->garbled_steps()) checkers_.distrust_average(step);
    act_as_adversary(host, id, actions);
}

void World::act_as_adversary(const Node& host, Id id, const Actions& actions) {
    for (const Action& action : actions) {
        if (!host.is_alive) return;
        if (const auto* sent = std::get_if<action::Send>(&action)) {
            put_on_link(sent->link, sent->frame);
        } else if (const auto* dial = std::get_if<action::Dial>(&action)) {
            network_.dial(id, dial->remote);
        } else if (const auto* close = std::get_if<action::Close>(&action)) {
            network_.close(close->link);
        }
    }
}

}  // namespace dedloc::simulation
