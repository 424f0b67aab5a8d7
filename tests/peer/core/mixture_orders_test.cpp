// What a peer accepts as the project's change of the mixture, and what it tells trainer, host and
// other peers.
#include <catch2/catch.hpp>

#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

namespace {

SignedMixture mixture_of(std::uint64_t version, std::uint64_t from,
                         std::vector<std::uint64_t> weights = {1, 1},
                         const KeyPair& key = kProject) {
    return sign_mixture(RunId{}, version,
                        {{.from = StepIndex{from}, .weights = std::move(weights)}}, key);
}

wire::Mixture told(const SignedMixture& mixture) {
    return {encode_mixture(mixture)};
}

PeerConfig config_with_sources(Role role) {
    PeerConfig config = config_of(role);
    config.sources = 2;
    return config;
}

std::vector<std::uint64_t> versions(const Beside& world) {
    std::vector<std::uint64_t> versions;
    for (const auto& changed : world.peer.acted<action::MixtureChanged>()) {
        versions.push_back(changed.as_signed->version);
    }
    return versions;
}

}  // namespace

TEST_CASE("the highest version that the project has signed is in force", "[progress]") {
    Beside world(Role::kTrainer, config_with_sources(Role::kTrainer));
    OtherEnd& member = world.peer.introduce(kOther);
    world.peer.forget();
    // Any member may pass it on. It is for steps to come, so no sample is dropped.
    world.peer.hear(member, {}, told(mixture_of(3, 20)));
    CHECK(versions(world) == std::vector<std::uint64_t>{3});
    const auto mixes = world.peer.acted<action::Mix>();
    REQUIRE(mixes.size() == 1);
    CHECK(mixes.front().mixture->changes.front().from == StepIndex{20});
    CHECK(world.peer.acted<action::Pause>().empty());
    CHECK(world.peer.heartbeat().mixture_version == 3);
    world.peer.forget();
    for (const std::uint64_t old : {1u, 2u, 3u}) {
        world.peer.hear(*world.backbone, {}, told(mixture_of(old, 30)));
    }
    CHECK(versions(world).empty());
    CHECK(world.peer.acted<action::Close>().empty());
}

TEST_CASE("a peer that hears late drops what it drew from the former mixture", "[progress]") {
    Beside world(Role::kTrainer, config_with_sources(Role::kTrainer));
    world.peer.tell(event::Progressed{StepIndex{0}, Samples{8}, 1});
    std::vector<Decision> decisions = world.decide(3);
    world.peer.forget();
    for (const Decision& decision : decisions) world.hear_commit(decision);
    // It lacks the averages and holds a sum of state 0; the change is from step 1 on.
    world.peer.forget();
    world.peer.hear(*world.backbone, {}, told(mixture_of(1, 1)));
    // The rounds up to step 2 were decided without it: it is void.
    const auto changes = world.peer.acted<action::MixtureChanged>();
    REQUIRE(changes.size() == 1);
    CHECK(changes.front().as_signed->changes.size() == 1);
    CHECK(changes.front().in_force->changes.empty());
}

TEST_CASE("a list of a stranger, or of another run's sources, is refused", "[progress]") {
    const auto closes = [](const wire::Mixture& mixture) {
        Beside world(Role::kTrainer, config_with_sources(Role::kTrainer));
        OtherEnd& member = world.peer.introduce(kOther);
        world.peer.forget();
        world.peer.hear(member, {}, mixture);
        const bool is_closed = !world.peer.acted<action::Close>().empty();
        CHECK(versions(world).empty() == is_closed);
        CHECK(world.peer.acted<action::Mix>().empty() == is_closed);
        return is_closed;
    };
    CHECK(closes(told(mixture_of(1, 20, {1, 1}, kOther))));
    CHECK(closes(told(mixture_of(1, 20, {1, 1}, kBackbone))));
    CHECK(closes(told(mixture_of(1, 20, {1, 1, 1}))));
    CHECK(closes({Buffer(40)}));
    // Sources that the project has not signed, more than a run can have, and a weight for one that
    // was never added.
    const auto with_added = [](std::size_t added, std::vector<std::uint64_t> weights,
                               const KeyPair& key) {
        std::vector<Digest> sources;
        for (std::size_t i = 0; i < added; ++i) {
            sources.push_back(blake2b(bytes_of(std::to_string(i))));
        }
        return told(sign_mixture(RunId{}, 1,
                                 {{.from = StepIndex{20}, .weights = std::move(weights)}}, key,
                                 std::move(sources)));
    };
    CHECK_FALSE(closes(with_added(1, {1, 1, 2}, kProject)));
    CHECK(closes(with_added(1, {1, 1, 2}, kOther)));
    CHECK(closes(with_added(1, {1, 1, 2, 3}, kProject)));
    CHECK(closes(with_added(1, {1}, kProject)));
    CHECK(closes(with_added(wire::kMaxSources - 1, {1, 1}, kProject)));
    Buffer damaged = encode_mixture(mixture_of(1, 20));
    damaged.back() ^= std::byte{1};
    CHECK(closes({damaged}));
}

TEST_CASE("a peer that knows less is told with the project's signature", "[progress]") {
    Beside world(Role::kTrainer, config_with_sources(Role::kTrainer));
    const SignedMixture mixture = mixture_of(2, 20);
    world.peer.hear(*world.backbone, {}, told(mixture));
    OtherEnd& member = world.peer.introduce(kOther);
    world.peer.forget();
    wire::Heartbeat heartbeat = world.history.heartbeat();
    heartbeat.mixture_version = 1;
    world.peer.hear(member, {}, heartbeat);
    const auto sent = world.peer.said_to<wire::Mixture>(member);
    REQUIRE(sent.size() == 1);
    CHECK(decode_mixture(sent.front().list) == mixture);
}

TEST_CASE("a peer that starts again goes on with the list that its host has kept", "[progress]") {
    PeerConfig config = config_with_sources(Role::kBackbone);
    config.mixture = std::make_shared<const SignedMixture>(mixture_of(4, 20));
    Beside world(Role::kBackbone, config);
    CHECK(world.peer.heartbeat().mixture_version == 4);
}
