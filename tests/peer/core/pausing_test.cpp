// Which peers may pause a run, and what a paused peer asks of its trainer and of its host.
#include <catch2/catch.hpp>

#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

namespace {

wire::Heartbeat heartbeat(const Beside& world, std::uint64_t pause_count) {
    wire::Heartbeat heartbeat = world.history.heartbeat();
    heartbeat.pause_count = pause_count;
    return heartbeat;
}

std::vector<std::uint64_t> counts(const Beside& world) {
    std::vector<std::uint64_t> counts;
    for (const auto& changed : world.peer.acted<action::PauseChanged>()) {
        counts.push_back(changed.pause_count);
    }
    return counts;
}

}  // namespace

TEST_CASE("only a voter's word, and the highest count, pauses a run", "[progress]") {
    Beside world(Role::kTrainer);
    OtherEnd& member = world.peer.introduce(kOther);
    world.peer.forget();
    world.peer.hear(member, {}, heartbeat(world, 7));
    CHECK(counts(world).empty());
    CHECK(world.peer.acted<action::Overlap>().empty());
    world.peer.hear(*world.backbone, {}, heartbeat(world, 3));
    CHECK(counts(world) == std::vector<std::uint64_t>{3});
    const auto stops = world.peer.acted<action::Overlap>();
    REQUIRE(stops.size() == 1);
    CHECK(stops.front().most == Samples{0});
    CHECK(world.peer.heartbeat().pause_count == 3);
    // Late and repeated heartbeats change nothing.
    world.peer.forget();
    for (const std::uint64_t old : {0, 2, 3}) {
        world.peer.hear(*world.backbone, {}, heartbeat(world, old));
    }
    CHECK(counts(world).empty());
    world.peer.hear(*world.backbone, {}, heartbeat(world, 4));
    CHECK(counts(world) == std::vector<std::uint64_t>{4});
    CHECK(world.peer.acted<action::Work>().size() == 1);
    CHECK(world.peer.acted<action::Pause>().empty());
}

TEST_CASE("the host writes a pause before any frame tells of it", "[progress]") {
    PeerConfig config = config_of(Role::kBackbone);
    config.may_begin_generations = true;
    config.pause_count = 4;
    Beside world(Role::kBackbone, config);
    world.peer.tell(event::PauseWanted{false});  // it is not paused
    CHECK(counts(world).empty());
    world.peer.pass(1s);
    world.peer.forget();
    world.peer.tell(event::PauseWanted{true});
    world.peer.tell(event::PauseWanted{true});
    CHECK(counts(world) == std::vector<std::uint64_t>{5});
    CHECK(std::holds_alternative<action::PauseChanged>(world.peer.actions.front()));
    CHECK(world.peer.heartbeat().pause_count == 5);
}

TEST_CASE("a host without the project's key pauses nothing", "[progress]") {
    Beside world(Role::kBackbone);
    world.peer.tell(event::PauseWanted{true});
    CHECK(counts(world).empty());
}
