// New peers on links of all speeds, and what they are sent.
#include <catch2/catch.hpp>
#include <vector>

#include "peer/state/packed_average.hpp"
#include "tests/peer/state/transfer_world.hpp"

using namespace dedloc;
using namespace dedloc::test;

namespace {

/// Eight leaves of an average, 24 of a state.
constexpr std::uint64_t kEightLeaves = 8 * kLeafElements;

/// A backbone that decides a round each second, and a new peer with a link to it that carries an
/// average in `average_time` seconds.
struct Joining {
    Joining(double average_time, Codec codec = Codec::kFp32, bool is_backbone = true)
        : world(kEightLeaves, 31) {
        world.rules.codec = codec;
        Member& member = world.add_member(k5);
        member.is_backbone = is_backbone;
        if (is_backbone) member.donor.retain(state::rounds_of_a_state(world.rules));
        member.bytes_per_second = 4.0 * kEightLeaves / average_time;
        decide();
        world.aim_at(k5);
    }
    void decide() {
        world.later(1s, [this] {
            world.advance();
            decide();
        });
    }
    /// How many states' bytes the peer was sent.
    double states_sent() const {
        return static_cast<double>(world.leaf_bytes) / (12.0 * kEightLeaves);
    }

    TransferWorld world;
};

}  // namespace

TEST_CASE("a new peer whose link carries averages reaches the swarm", "[state]") {
    for (const double average_time : {0.1, 0.3, 0.5, 0.7, 0.8}) {
        INFO("an average takes " << average_time << " of a round");
        Joining joining{average_time};
        REQUIRE(joining.world.run_until_current(60s));
        CHECK(joining.world.loads.size() == 1);
        CHECK(joining.world.notes.empty());
    }
    // Other donors retain two averages, too few for this link.
    Joining joining{0.8, Codec::kFp32, false};
    CHECK_FALSE(joining.world.run_until_current(60s));
}

TEST_CASE("a peer that cannot follow notes it early and leaves the donors alone", "[state]") {
    Joining joining{3};
    CHECK_FALSE(joining.world.run_until_current(7s));
    REQUIRE(joining.world.notes.size() == 1);
    CHECK(joining.world.has_note(
        "this peer cannot follow the swarm: it receives 5.6 Mbit/s, and following rounds of 1.0 s "
        "takes 16.8 Mbit/s. It tries again in 60 s"));
    CHECK_FALSE(joining.world.run_until_current(900s));
    CHECK(joining.world.loads.empty());
    CHECK(joining.world.notes.size() <= 5);
    CHECK(joining.states_sent() < 3);
}

TEST_CASE("a peer that can barely not follow notes it before it holds a second state", "[state]") {
    Joining joining{1.4};
    CHECK_FALSE(joining.world.run_until_current(8s));
    CHECK(joining.world.notes.size() == 1);
    CHECK(joining.world.has_note("cannot follow the swarm: it receives 12.0 Mbit/s"));
    CHECK(joining.states_sent() < 1.5);
}

TEST_CASE("a peer that falls behind again and again rests after two states", "[state]") {
    Joining joining{1.2};
    CHECK_FALSE(joining.world.run_until_current(900s));
    CHECK(joining.world.has_note("has loaded 2 states and is behind again"));
    CHECK(joining.world.loads.size() <= 10);
    CHECK(joining.world.notes.size() <= 5);
}

TEST_CASE("a peer that rested follows once its link is faster", "[state]") {
    Joining joining{3};
    joining.world.later(30s, [&] { joining.world.members[0]->bytes_per_second *= 10; });
    REQUIRE(joining.world.run_until_current(70s));
    CHECK(joining.world.notes.size() == 1);
}

TEST_CASE("leaves that wait for this peer's own link are requested once", "[state]") {
    for (const double mbit : {1., 2., 8.}) {
        INFO(mbit << " Mbit/s");
        TransferWorld world{kEightLeaves, 36};
        for (int i = 0; i < 4; ++i) world.add_member(k5);
        world.download = mbit * 125'000;
        world.aim_at(k5);
        REQUIRE(world.run_until_current(120s));
        CHECK(world.leaf_bytes == 12 * kEightLeaves);
        for (std::uint64_t rounds = 1; rounds <= 6; ++rounds) {
            world.advance();
            REQUIRE(world.run_until_current(60s));
            CHECK(world.leaf_bytes == (12 + 4 * rounds) * kEightLeaves);
        }
    }
}

TEST_CASE("averages of missed rounds travel in the run's codec", "[state]") {
    for (const Codec codec : {Codec::kFp32, Codec::kBf16}) {
        TransferWorld world{kEightLeaves, 32};
        world.rules.codec = codec;
        world.history.round_to_bf16 = true;
        world.add_member(StepIndex{7});
        world.start_at(k5);
        world.aim_at(StepIndex{7});
        REQUIRE(world.run_until_current(10s));
        CHECK(world.rounds == std::vector{k5, StepIndex{6}});
        const double sent = codec == Codec::kFp32 ? 4 : 2;
        CHECK(world.leaf_bytes == static_cast<std::uint64_t>(2 * sent * kEightLeaves));
    }
}

TEST_CASE("donors that fall silent for a while do not make a peer rest", "[state]") {
    Joining joining{0.3};
    Member& donor = *joining.world.members[0];
    joining.world.later(600ms, [&] { donor.is_mute = true; });
    joining.world.later(40s, [&] { donor.is_mute = false; });
    REQUIRE(joining.world.run_until_current(100s));
    CHECK_FALSE(joining.world.has_note("cannot follow the swarm"));
}

TEST_CASE("a third state is not loaded when a backbone is lost in mid-round", "[state]") {
    Joining joining{1.2};
    TransferWorld& world = joining.world;
    REQUIRE(world.run_until([&] { return world.loads.size() == 2; }, 60s));
    // While the first round is fetched: no donor retains enough rounds any more.
    world.later(700ms, [&] { world.members[0]->is_backbone = false; });
    CHECK_FALSE(world.run_until_current(40s));
    CHECK(world.loads.size() == 2);
    CHECK(world.has_note("has loaded 2 states and is behind again"));
}

TEST_CASE("a peer whose target is old does not load an old state of which a donor has a snapshot",
          "[state]") {
    TransferWorld world{kEightLeaves, 37};
    Member& member = world.add_member(StepIndex{0});
    world.aim_at(StepIndex{0});
    REQUIRE(world.run_until_current(5s));
    for (StepIndex step{1}; step <= StepIndex{8}; step = step.next()) {
        member.own.step = step;
        member.own.state = world.history.state_digest(step);
        world.certify(member, step);
    }
    world.own = {};
    world.catch_up->stop();
    world.later(0s, [&] { world.catch_up->follow(0, StepIndex{0}); });
    REQUIRE(world.run_until([&] { return world.loads.size() == 2; }, 5s));
    CHECK(world.loads[0].step == StepIndex{0});
    CHECK(world.loads[1].step == StepIndex{8});
}

TEST_CASE("a peer without a donor asks at the first heartbeat that tells of one", "[state]") {
    TransferWorld world{kEightLeaves, 33};
    Member& member = world.add_member(k5);
    member.own.has_state = false;
    world.aim_at(k5);
    world.later(300ms, [&] {
        member.own.has_state = true;
        world.catch_up->heard(world.now, member.key);
    });
    REQUIRE(world.run_until([&] { return member.queries > 0; }, 5s));
    CHECK(world.now.time_since_epoch() < 450ms);
    CHECK(world.run_until_current(5s));
}

TEST_CASE("a peer asks for a state at the first heartbeat that is too far ahead for rounds",
          "[state]") {
    TransferWorld world{kEightLeaves, 35};
    world.start_at(k5);
    Member& member = world.add_member(StepIndex{6});
    member.own.has_state = false;
    world.aim_at(StepIndex{6});  // one round, which this member might retain
    world.later(300ms, [&] {
        for (int round = 0; round < 8; ++round) world.advance();
        member.own.has_state = true;
        world.catch_up->heard(world.now, member.key);
    });
    REQUIRE(world.run_until([&] { return member.queries > 0; }, 5s));
    CHECK(world.now.time_since_epoch() < 450ms);
    REQUIRE(world.run_until_current(5s));
    CHECK(world.loads.size() == 1);
}

TEST_CASE("heartbeats make a peer ask ten times a second at most", "[state]") {
    TransferWorld world{kEightLeaves, 34};
    Member& forger = world.add_member(k5);
    forger.twist = [](wire::Body& body) {
        if (auto* offer = std::get_if<wire::StateOffer>(&body))
            offer->leaves[0].bytes[0] ^= std::byte{1};
    };
    world.aim_at(k5);
    const std::function<void()> tell = [&] {
        world.catch_up->heard(world.now, forger.key);
        world.later(10ms, tell);
    };
    tell();
    CHECK_FALSE(world.run_until_current(5s));
    CHECK(forger.queries > 1);
    CHECK(forger.queries <= 51);
}
