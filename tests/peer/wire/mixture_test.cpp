// The signed list of changes of a mixture, and the fields of messages that name one.
#include "peer/wire/mixture.hpp"

#include <catch2/catch.hpp>

#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/bounds.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

RunId run_named(std::uint8_t name) {
    RunId run;
    run.bytes.fill(std::byte{name});
    return run;
}

SignedMixture two_changes() {
    return sign_mixture(run_named(1), 5,
                        {{.from = StepIndex{10}, .weights = {1, 3}},
                         {.from = StepIndex{20}, .weights = {230'000, 770'000}}},
                        test_key());
}

Digest source_named(const std::string& name) {
    return blake2b(bytes_of(name));
}

/// The same with other changes, as if it came from a stranger.
bool is_read(std::uint64_t version, const std::vector<MixtureChange>& changes,
             const std::vector<Digest>& added = {}) {
    const SignedMixture mixture{
        .version = version, .changes = changes, .signature = {}, .added = added};
    return decode_mixture(encode_mixture(mixture)).has_value();
}

}  // namespace

TEST_CASE("a list of changes survives its bytes, and no others are read", "[wire]") {
    const SignedMixture mixture = two_changes();
    const Buffer bytes = encode_mixture(mixture);
    CHECK(bytes.size() == wire::mixture_bytes(2, 2, 0));
    CHECK(decode_mixture(bytes) == mixture);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK_FALSE(decode_mixture(std::span{bytes}.first(size)));
    }
    Buffer longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(decode_mixture(longer));
    // Counts that the bytes do not account for.
    for (const std::size_t place : {12U, 16U, 28U}) {
        Buffer more = bytes;
        more[place + 3] = std::byte{0x7F};
        CHECK_FALSE(decode_mixture(more));
    }
    CHECK_FALSE(decode_mixture(Buffer(wire::kMaxMixtureBytes + 1)));
}

TEST_CASE("changes ascend, and each has weights within their bounds", "[wire]") {
    const auto change = [](std::uint64_t from, std::vector<std::uint64_t> weights) {
        return MixtureChange{.from = StepIndex{from}, .weights = std::move(weights)};
    };
    CHECK(is_read(1, {}));
    CHECK(is_read(1, {change(1, {0, 1})}));
    CHECK(is_read(~std::uint64_t{0}, {change(wire::kMaxStep, {wire::kMaxSourceWeight})}));
    CHECK_FALSE(is_read(0, {change(1, {1, 1})}));
    CHECK_FALSE(is_read(1, {change(0, {1, 1})}));
    CHECK_FALSE(is_read(1, {change(wire::kMaxStep + 1, {1, 1})}));
    CHECK_FALSE(is_read(1, {change(5, {1, 1}), change(5, {1, 2})}));
    CHECK_FALSE(is_read(1, {change(5, {1, 1}), change(4, {1, 2})}));
    CHECK_FALSE(is_read(1, {change(1, {0, 0})}));
    CHECK_FALSE(is_read(1, {change(1, {1, wire::kMaxSourceWeight + 1})}));
    CHECK_FALSE(is_read(1, {change(1, std::vector<std::uint64_t>(wire::kMaxSources + 1, 1))}));
    std::vector<MixtureChange> many;
    for (std::uint64_t i = 1; i <= wire::kMaxMixtureChanges; ++i) {
        many.push_back(change(i, std::vector<std::uint64_t>(wire::kMaxSources, 1)));
    }
    CHECK(is_read(1, many));
    many.push_back(change(1'000, many.back().weights));
    CHECK_FALSE(is_read(1, many));
}

TEST_CASE("a list names the sources that were added, each once", "[wire]") {
    const auto change = [](std::uint64_t from, std::vector<std::uint64_t> weights) {
        return MixtureChange{.from = StepIndex{from}, .weights = std::move(weights)};
    };
    const std::vector<MixtureChange> changes{change(3, {1, 1}), change(9, {1, 0, 2})};
    const SignedMixture mixture =
        sign_mixture(run_named(1), 2, changes, test_key(), {source_named("hindi")});
    const Buffer bytes = encode_mixture(mixture);
    CHECK(bytes.size() == wire::mixture_bytes(2, 2, 1) + 8);
    CHECK(decode_mixture(bytes) == mixture);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK_FALSE(decode_mixture(std::span{bytes}.first(size)));
    }
    CHECK(is_signed(run_named(1), test_key().public_key(), mixture));
    SignedMixture other = mixture;
    other.added[0] = source_named("urdu");
    CHECK_FALSE(is_signed(run_named(1), test_key().public_key(), other));
    other.added.clear();
    CHECK_FALSE(is_signed(run_named(1), test_key().public_key(), other));
    // No weight is taken away again, and no source is named twice.
    CHECK_FALSE(is_read(1, {change(3, {1, 1, 1}), change(9, {1, 1})}));
    CHECK_FALSE(is_read(1, {}, {source_named("a"), source_named("b"), source_named("a")}));
    std::vector<Digest> many;
    for (std::size_t i = 0; i < wire::kMaxSources; ++i) {
        many.push_back(source_named(std::to_string(i)));
    }
    CHECK(is_read(1, {}, many));
    many.push_back(source_named("one more"));
    CHECK_FALSE(is_read(1, {}, many));
}

TEST_CASE("a list fits a run by its sources and those that were added", "[wire]") {
    const auto fits = [](std::vector<std::size_t> weights, std::size_t added, std::size_t sources) {
        SignedMixture mixture{.version = 1, .changes = {}, .signature = {}, .added = {}};
        for (const std::size_t count : weights) {
            mixture.changes.push_back({.from = StepIndex{mixture.changes.size() + 1},
                                       .weights = std::vector<std::uint64_t>(count, 1)});
        }
        for (std::size_t i = 0; i < added; ++i) {
            mixture.added.push_back(source_named(std::to_string(i)));
        }
        return fits_sources(mixture, sources);
    };
    CHECK(fits({}, 0, 0));
    CHECK(fits({}, 0, 2));
    CHECK(fits({2, 2}, 0, 2));
    CHECK(fits({2, 3, 4}, 2, 2));
    CHECK(fits({}, wire::kMaxSources - 2, 2));
    CHECK_FALSE(fits({}, wire::kMaxSources - 1, 2));
    CHECK_FALSE(fits({1}, 0, 2));
    CHECK_FALSE(fits({3}, 0, 2));
    CHECK_FALSE(fits({2, 4}, 1, 2));
    CHECK_FALSE(fits({}, 1, 0));
    CHECK_FALSE(fits({1}, 0, 0));
}

TEST_CASE("only the project's key signs a list, for one run", "[wire]") {
    const SignedMixture mixture = two_changes();
    const PeerKey project = test_key().public_key();
    CHECK(is_signed(run_named(1), project, mixture));
    CHECK_FALSE(is_signed(run_named(2), project, mixture));
    CHECK_FALSE(is_signed(run_named(1), test_key(2).public_key(), mixture));
    const auto changed = [&](auto change) {
        SignedMixture other = mixture;
        change(other);
        return is_signed(run_named(1), project, other);
    };
    CHECK_FALSE(changed([](SignedMixture& m) { ++m.version; }));
    CHECK_FALSE(changed([](SignedMixture& m) { ++m.changes[1].weights[0]; }));
    CHECK_FALSE(changed([](SignedMixture& m) { m.changes[0].from = StepIndex{11}; }));
    CHECK_FALSE(changed([](SignedMixture& m) { m.changes.pop_back(); }));
}

TEST_CASE("the mixture of a step is the last change that has begun", "[wire]") {
    const SignedMixture mixture = two_changes();
    CHECK(change_at(nullptr, StepIndex{99}) == nullptr);
    CHECK_FALSE(mixture_at(&mixture, StepIndex{9}));
    CHECK(change_at(&mixture, StepIndex{10}) == &mixture.changes[0]);
    CHECK(change_at(&mixture, StepIndex{19}) == &mixture.changes[0]);
    CHECK(change_at(&mixture, StepIndex{20}) == &mixture.changes[1]);
    CHECK(mixture_at(&mixture, StepIndex{1'000'000}) == digest_of(mixture.changes[1]));
    CHECK(digest_of(mixture.changes[0]) != digest_of(mixture.changes[1]));
}

TEST_CASE("messages and records carry the mixture, and none where there is none", "[wire]") {
    WireSamples samples{3};
    const Digest name = digest_of(two_changes().changes[1]);
    const auto check = [&](auto body, auto set) {
        samples.make(body);
        const auto bytes_of_frame = [&](const auto& m) {
            return wire::frame_of(samples.message(m, test_key()), nullptr);
        };
        const auto plain = bytes_of_frame(body);
        set(body);
        wire::Message message = samples.message(body, test_key());
        const auto frame = wire::frame_of(message, nullptr);
        CHECK(frame->size() > plain->size());
        const auto decoded = wire::decode_unverified(*frame);
        REQUIRE(decoded);
        CHECK(decoded->body == message.body);
    };
    check(wire::Join{}, [&](wire::Join& m) { m.mixture = name; });
    check(wire::Plan{}, [&](wire::Plan& m) { m.mixture = name; });
    check(wire::Heartbeat{}, [&](wire::Heartbeat& m) { m.mixture_version = 7; });
    check(wire::RoundOffer{}, [&](wire::RoundOffer& m) { m.record.mixture = name; });
    // How many of the added sources each job has.
    check(wire::Join{}, [&](wire::Join& m) { m.added = 2; });
    check(wire::Plan{}, [&](wire::Plan& m) { m.members.front().added = 1; });
    check(wire::RoundOffer{},
          [&](wire::RoundOffer& m) { m.record.members.back().added = wire::kMaxSources; });
    CommitRecord record;
    samples.make(record);
    const Digest without = digest_of(record);
    record.mixture = name;
    CHECK(digest_of(record) != without);
    record.mixture.reset();
    record.members.front().added = 1;
    CHECK(digest_of(record) != without);
    record.members.front().added = 0;
    CHECK(digest_of(record) == without);
}

TEST_CASE("a job has no more added sources than a run can have", "[wire]") {
    check_limit<wire::Join>(&wire::Join::added, std::uint8_t{wire::kMaxSources},
                            std::uint8_t{wire::kMaxSources + 1});
    WireSamples samples{4};
    wire::Plan plan;
    samples.make(plan);
    plan.members.back().added = wire::kMaxSources;
    CHECK(wire::is_within_bounds(plan));
    plan.members.back().added = wire::kMaxSources + 1;
    CHECK_FALSE(wire::is_within_bounds(plan));
    Decision decision;
    samples.make(decision);
    decision.record.members.back().added = wire::kMaxSources + 1;
    CHECK_FALSE(wire::is_within_bounds(decision));
}

TEST_CASE("a message with a list is never empty or too long", "[wire]") {
    check_limit<wire::Mixture>(&wire::Mixture::list, Buffer(wire::kMaxMixtureBytes),
                               Buffer(wire::kMaxMixtureBytes + 1));
    check_limit<wire::Mixture>(&wire::Mixture::list, Buffer(1), Buffer{});
}
