// What a peer accepts as the project's order, what it passes on, and what a paused peer asks of its
// trainer and of its host.
#include <catch2/catch.hpp>

#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

namespace {

SignedPause pause_of(std::uint64_t count, const KeyPair& key = kProject) {
    return sign_pause(RunId{}, count, key);
}

wire::Heartbeat heartbeat(const Beside& world, std::uint64_t pause_count) {
    wire::Heartbeat heartbeat = world.history.heartbeat();
    heartbeat.pause_count = pause_count;
    return heartbeat;
}

std::vector<std::uint64_t> counts(const Beside& world) {
    std::vector<std::uint64_t> counts;
    for (const auto& changed : world.peer.acted<action::PauseChanged>()) {
        counts.push_back(changed.pause.count);
    }
    return counts;
}

}  // namespace

TEST_CASE("the highest count that the project has signed pauses a run", "[progress]") {
    Beside world(Role::kTrainer);
    OtherEnd& member = world.peer.introduce(kOther);
    world.peer.forget();
    // Any member may pass it on.
    world.peer.hear(member, {}, wire::Pause{pause_of(3)});
    CHECK(counts(world) == std::vector<std::uint64_t>{3});
    const auto stops = world.peer.acted<action::Overlap>();
    REQUIRE(stops.size() == 1);
    CHECK(stops.front().max == Samples{0});
    CHECK(world.peer.heartbeat().pause_count == 3);
    // Late and repeated ones change nothing.
    world.peer.forget();
    for (const std::uint64_t old : {1u, 2u, 3u}) {
        world.peer.hear(*world.backbone, {}, wire::Pause{pause_of(old)});
    }
    CHECK(counts(world).empty());
    world.peer.hear(*world.backbone, {}, wire::Pause{pause_of(4)});
    CHECK(counts(world) == std::vector<std::uint64_t>{4});
    CHECK(world.peer.acted<action::Work>().size() == 1);
    CHECK(world.peer.acted<action::Pause>().empty());
}

TEST_CASE("no voter can pause a run by what it claims or signs itself", "[progress]") {
    Beside world(Role::kTrainer);
    world.peer.forget();
    world.peer.hear(*world.backbone, {}, heartbeat(world, 7));
    CHECK(counts(world).empty());
    CHECK(world.peer.acted<action::Overlap>().empty());
    CHECK(world.peer.heartbeat().pause_count == 0);
    CHECK(world.peer.acted<action::Close>().empty());
    // The project's signature of another run is none for this one.
    const SignedPause forged = GENERATE_COPY(
        pause_of(7, kBackbone), sign_pause(RunId{.bytes = {std::byte{1}}}, 7, kProject));
    world.peer.hear(*world.backbone, {}, wire::Pause{forged});
    CHECK(counts(world).empty());
    CHECK(world.peer.acted<action::Close>().size() == 1);
}

TEST_CASE("a peer that knows an older count is told at each heartbeat", "[progress]") {
    PeerConfig config = config_of(Role::kTrainer);
    config.pause = pause_of(5);
    Beside world(Role::kTrainer, config);
    OtherEnd& member = world.peer.introduce(kOther);
    const auto told = [&](std::uint64_t known) {
        world.peer.forget();
        world.peer.hear(member, {}, heartbeat(world, known));
        return world.peer.said_to<wire::Pause>(member);
    };
    for (const std::uint64_t known : {0u, 4u}) {
        const auto pauses = told(known);
        REQUIRE(pauses.size() == 1);
        CHECK(pauses.front().pause == pause_of(5));
    }
    CHECK(told(5).empty());
    CHECK(told(6).empty());
}

TEST_CASE("the host writes a pause before any frame tells of it", "[progress]") {
    PeerConfig config = config_of(Role::kBackbone);
    config.may_begin_generations = true;
    config.pause = pause_of(4);
    Beside world(Role::kBackbone, config);
    world.peer.tell(event::PauseSigned{pause_of(4)});
    world.peer.tell(event::PauseSigned{pause_of(5, kBackbone)});
    CHECK(counts(world).empty());
    world.peer.pass(1s);
    world.peer.forget();
    world.peer.tell(event::PauseSigned{pause_of(5)});
    CHECK(counts(world) == std::vector<std::uint64_t>{5});
    CHECK(std::holds_alternative<action::PauseChanged>(world.peer.actions.front()));
    CHECK(world.peer.said_to<wire::Pause>(*world.backbone).size() == 1);
    CHECK(world.peer.heartbeat().pause_count == 5);
}

TEST_CASE("revocations go to every other voter once, and to none else", "[progress]") {
    Beside world(Role::kBackbone);
    OtherEnd& member = world.peer.introduce(kOther);
    const auto told = [&](const OtherEnd& end) {
        return world.peer.said_to<wire::RevocationList>(end);
    };
    world.peer.forget();
    world.peer.tell(event::RevocationsSigned{Buffer(3)});
    world.peer.hear(*world.backbone, {}, heartbeat(world, 0));
    world.peer.hear(member, {}, heartbeat(world, 0));
    REQUIRE(told(*world.backbone).size() == 1);
    CHECK(told(*world.backbone).front().list == Buffer(3));
    CHECK(told(member).empty());
    // A newer list is told at once; a voter with a new link may have lost what was sent.
    world.peer.forget();
    world.peer.tell(event::RevocationsSigned{Buffer(4)});
    CHECK(told(*world.backbone).size() == 1);
}

TEST_CASE("a list of revocations counts from a voter only", "[progress]") {
    Beside world(Role::kBackbone);
    OtherEnd& member = world.peer.introduce(kOther);
    world.peer.forget();
    world.peer.hear(member, {}, wire::RevocationList{Buffer(3)});
    CHECK(world.peer.acted<action::RevocationsHeard>().empty());
    world.peer.hear(*world.backbone, {}, wire::RevocationList{Buffer(3)});
    const auto heard = world.peer.acted<action::RevocationsHeard>();
    REQUIRE(heard.size() == 1);
    CHECK(heard.front().list == Buffer(3));
}
