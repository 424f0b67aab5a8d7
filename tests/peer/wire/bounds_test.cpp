#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "peer/wire/history.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/bounds.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace dedloc::wire;

namespace {

/// Both bandwidths of a message are bounded or unknown; a known 0 would be unknown on the wire.
template <class M>
void check_bandwidths() {
    for (std::optional<Bandwidth> M::*field : {&M::upload, &M::download}) {
        check_limit<M>(field, Bandwidth{kMaxBytesPerSecond}, Bandwidth{kMaxBytesPerSecond + 1});
        M body = good<M>();
        for (const auto bandwidth : {known_bandwidth(0), known_bandwidth(1)}) {
            body.*field = bandwidth;
            const Message message = WireSamples{3}.message(body, test_key());
            REQUIRE(decode_unverified(*frame_of(message, nullptr)).value() == message);
        }
        body.*field = Bandwidth{0};
        REQUIRE_FALSE(is_within_bounds(WireSamples{3}.message(body, test_key())));
    }
}

bool accepts_blocks(std::uint32_t capacity, const std::vector<std::int8_t>& codes,
                    const std::vector<std::uint8_t>& exponents) {
    Chunk chunk;
    chunk.chunk_elements = capacity;
    chunk.elements = Int8Blocks{.codes = codes, .exponents = exponents};
    return is_accepted(chunk);
}

/// Each block has one exponent, within bounds, and every code has an opposite.
void check_blocks() {
    const auto accepts = [](std::uint32_t capacity, std::size_t count, std::size_t exponents) {
        return accepts_blocks(capacity, std::vector<std::int8_t>(count, -127),
                              std::vector<std::uint8_t>(exponents, 127));
    };
    REQUIRE(accepts(64, 1, 1));
    REQUIRE(accepts(64, 64, 1));
    REQUIRE(accepts(128, 65, 2));
    REQUIRE(accepts(128, 128, 2));
    REQUIRE(accepts(kChunkElements, kChunkElements, kChunkElements / 64));
    REQUIRE_FALSE(accepts(64, 0, 0));
    REQUIRE_FALSE(accepts(64, 65, 2));
    REQUIRE_FALSE(accepts(63, 63, 1));
    REQUIRE_FALSE(accepts(65, 65, 2));
    REQUIRE_FALSE(accepts(128, 128, 1));
    REQUIRE_FALSE(accepts(128, 128, 3));
    REQUIRE_FALSE(accepts(128, 64, 2));
    REQUIRE_FALSE(accepts(kChunkElements, kChunkElements, kChunkElements / 64 + 1));
    for (std::size_t place = 0; place < 100; ++place) {
        std::vector<std::int8_t> codes(100, 127);
        REQUIRE(accepts_blocks(128, codes, {1, 238}));
        codes[place] = -128;
        REQUIRE_FALSE(accepts_blocks(128, codes, {1, 238}));
    }
    const std::vector<std::int8_t> codes(100, 1);
    for (const std::uint8_t bad : std::vector<std::uint8_t>{0, 239, 255}) {
        REQUIRE_FALSE(accepts_blocks(128, codes, {bad, 127}));
        REQUIRE_FALSE(accepts_blocks(128, codes, {127, bad}));
    }
}

}  // namespace

TEST_CASE("the envelope's numbers are bounded", "[wire]") {
    Message message = WireSamples{3}.message(Leave{}, test_key());
    message.step = StepIndex{kMaxStep};
    message.generation = kMaxGeneration;
    REQUIRE(is_accepted(message));
    message.step = StepIndex{kMaxStep + 1};
    REQUIRE_FALSE(is_accepted(message));
    message.step = StepIndex{0};
    message.generation = kMaxGeneration + 1;
    REQUIRE_FALSE(is_accepted(message));
}

TEST_CASE("every bound of the messages of a handshake is kept", "[wire]") {
    check_limit<Hello>(&Hello::result_name, std::string(kMaxResultNameBytes, 'x'),
                       std::string(kMaxResultNameBytes + 1, 'x'));
    check_limit<Hello>(&Hello::role, Role::kBackbone, static_cast<Role>(3));
    REQUIRE(accepts<Hello>([](Hello& m) { m.newest_protocol = m.oldest_protocol; }));
    REQUIRE_FALSE(accepts<Hello>([](Hello& m) {
        m.oldest_protocol = 3;
        m.newest_protocol = 2;
    }));
    check_limit<Refusal>(&Refusal::reason, std::string(kMaxReasonBytes, 'x'),
                         std::string(kMaxReasonBytes + 1, 'x'));
}

TEST_CASE("every bound of a heartbeat is kept", "[wire]") {
    check_limit<Heartbeat>(&Heartbeat::samples, Samples{kMaxSamples}, Samples{kMaxSamples + 1});
    const double max = static_cast<double>(kMaxSamples);
    for (const double bad : {kNan, kInfinity, -1.0, std::nextafter(max, kInfinity)}) {
        check_limit<Heartbeat>(&Heartbeat::samples_per_second, max, bad);
    }
    check_limit<Heartbeat>(&Heartbeat::pause_count, kMaxPauseCount, kMaxPauseCount + 1);
    check_bandwidths<Heartbeat>();
}

TEST_CASE("the number of a term is bounded in every message that has one", "[wire]") {
    check_term(&Heartbeat::term);
    check_term(&Elect::term);
    check_term(&Promise::term);
    check_term(&Promise::promised);
    check_term(&Promise::accepted_in);
    check_term(&Call::term);
    check_term(&Join::term);
    check_term(&Plan::term);
    check_term(&Cancel::term);
    check_term(&Reduced::term);
    check_term(&Stalled::term);
    check_term(&Ready::term);
    check_term(&Propose::term);
    check_term(&Accept::term);
}

TEST_CASE("every bound of a generation is kept", "[wire]") {
    check_limit<Generation>(
        [](Generation & m) -> auto& { return m.generation.record.generation; }, kMaxGeneration,
        kMaxGeneration + 1);
    check_limit<Generation>(
        [](Generation & m) -> auto& { return m.generation.record.generation; }, std::uint64_t{1},
        std::uint64_t{0});
    check_limit<Generation>(
        [](Generation & m) -> auto& { return m.generation.record.step; }, StepIndex{kMaxStep},
        StepIndex{kMaxStep + 1});
    const auto voters = [](std::vector<PeerKey> keys) {
        return accepts<Generation>(
            [&](Generation& m) { m.generation.record.voters = std::move(keys); });
    };
    REQUIRE(voters(ascending_keys(1)));
    REQUIRE_FALSE(voters({}));
    REQUIRE(voters(ascending_keys(kMaxVoters)));
    REQUIRE_FALSE(voters(ascending_keys(kMaxVoters + 1)));
    const auto two = ascending_keys(2);
    REQUIRE_FALSE(voters({two[1], two[0]}));
    REQUIRE_FALSE(voters({two[0], two[0]}));
}

TEST_CASE("every bound of a record is kept in each message that carries one", "[wire]") {
    check_record_bounds([](const CommitRecord& r) {
        Promise body = good<Promise>();
        body.accepted = r;
        return body;
    });
    check_record_bounds([](const CommitRecord& r) {
        Propose body = good<Propose>();
        body.record = r;
        return body;
    });
    check_record_bounds([](const CommitRecord& r) {
        Commit body = good<Commit>();
        body.record = r;
        return body;
    });
    check_record_bounds([](const CommitRecord& r) {
        RoundOffer body = good<RoundOffer>();
        body.record = r;
        return body;
    });
}

TEST_CASE("every bound of a certificate is kept in each message that carries one", "[wire]") {
    check_certificate_bounds([](const Certificate& c) {
        Commit body = good<Commit>();
        body.certificate = c;
        return body;
    });
    check_certificate_bounds([](const Certificate& c) {
        RoundOffer body = good<RoundOffer>();
        body.certificate = c;
        return body;
    });
}

TEST_CASE("every bound of votes for a state is kept in each message that carries them", "[wire]") {
    const auto state_votes = [](std::vector<Vote> votes) {
        StateVotes body = good<StateVotes>();
        body.votes = std::move(votes);
        return body;
    };
    check_vote_bounds(state_votes, false);
    // The first state of a generation needs no votes: the project has signed it.
    const auto offer = [](std::vector<Vote> votes) {
        StateOffer body = good<StateOffer>();
        body.votes = std::move(votes);
        return body;
    };
    check_vote_bounds(offer, true);
}

TEST_CASE("a chunk has scales within their bounds", "[wire]") {
    const auto elements = static_cast<std::uint32_t>(kChunkElements);
    const auto halves_of = [](std::uint32_t capacity, std::size_t count, std::uint8_t exponent) {
        Chunk chunk;
        chunk.chunk_elements = capacity;
        chunk.elements =
            Halves{.bits = std::vector<std::uint16_t>(count, 0xffff), .exponent = exponent};
        return is_accepted(chunk);
    };
    REQUIRE(halves_of(7, 7, 127));
    REQUIRE_FALSE(halves_of(7, 8, 127));
    REQUIRE_FALSE(halves_of(7, 0, 127));
    REQUIRE(halves_of(elements, kChunkElements, 127));
    REQUIRE_FALSE(halves_of(elements, kChunkElements + 1, 127));
    REQUIRE(halves_of(7, 7, kMinHalfExponent));
    REQUIRE_FALSE(halves_of(7, 7, kMinHalfExponent - 1));
    REQUIRE(halves_of(7, 7, kMaxHalfExponent));
    REQUIRE_FALSE(halves_of(7, 7, kMaxHalfExponent + 1));

    const auto bfloats_of = [](std::uint32_t capacity, std::size_t count) {
        Chunk chunk;
        chunk.chunk_elements = capacity;
        chunk.elements = Bfloats{.bits = std::vector<std::uint16_t>(count, 0xffff)};
        return is_accepted(chunk);
    };
    REQUIRE(bfloats_of(7, 7));
    REQUIRE_FALSE(bfloats_of(7, 8));
    REQUIRE_FALSE(bfloats_of(7, 0));
    REQUIRE(bfloats_of(elements, kChunkElements));
    REQUIRE_FALSE(bfloats_of(elements, kChunkElements + 1));

    check_blocks();
}

TEST_CASE("every bound of a round's messages is kept", "[wire]") {
    check_limit<Join>(&Join::samples, Samples{kMaxSamples}, Samples{kMaxSamples + 1});
    for (const double bad : {kNan, kInfinity, -kInfinity}) {
        check_limit<Join>(&Join::loss_sum, 0.0, bad);
    }
    const auto joins = [](std::uint64_t count, double loss_sum) {
        return accepts<Join>([&](Join& m) {
            m.samples = Samples{count};
            m.loss_sum = loss_sum;
        });
    };
    REQUIRE(joins(8, -8 * kMaxMeanLoss));
    REQUIRE_FALSE(joins(8, std::nextafter(8 * kMaxMeanLoss, kInfinity)));
    REQUIRE_FALSE(joins(0, 1));
    check_bandwidths<Join>();
    REQUIRE(accepts<Join>([](Join& m) { m.exponent = kMinInt8Exponent; }));
    check_limit<Join>(&Join::exponent, kMaxHalfExponent,
                      static_cast<std::uint8_t>(kMaxHalfExponent + 1));
    REQUIRE(accepts<Join>([](Join& m) { m.exponent = 0; }));

    check_limit<Chunk>(&Chunk::kind, ChunkKind::kGather, static_cast<ChunkKind>(2));
    const auto chunks = static_cast<std::uint32_t>(kMaxChunks);
    check_limit<Chunk>(&Chunk::chunk, chunks - 1, chunks);
    const auto elements = static_cast<std::uint32_t>(kChunkElements);
    check_limit<Chunk>(&Chunk::chunk_elements, elements, elements + 1);
    const auto chunk_of = [](std::uint32_t capacity, std::size_t count) {
        Chunk chunk;
        chunk.chunk_elements = capacity;
        chunk.elements = FloatVector(count);
        return is_accepted(chunk);
    };
    REQUIRE(chunk_of(7, 7));
    REQUIRE_FALSE(chunk_of(7, 8));
    REQUIRE_FALSE(chunk_of(7, 0));
    REQUIRE_FALSE(chunk_of(0, 0));
    REQUIRE(chunk_of(elements, kChunkElements));
    REQUIRE_FALSE(chunk_of(elements, kChunkElements + 1));

    std::vector<std::uint32_t> all(kMaxMembers);
    for (std::uint32_t i = 0; i < kMaxMembers; ++i) all[i] = i;
    std::vector<std::uint32_t> too_many = all;
    too_many.push_back(kMaxMembers);
    for (const auto list : {&Stalled::senders, &Stalled::reducers, &Stalled::refused}) {
        check_limit<Stalled>(list, all, too_many);
        check_limit<Stalled>(list, {kMaxMembers - 1}, std::vector<std::uint32_t>{kMaxMembers});
        check_limit<Stalled>(list, {3, 4}, std::vector<std::uint32_t>{4, 3});
        check_limit<Stalled>(list, {3, 4}, std::vector<std::uint32_t>{3, 3});
    }
}

TEST_CASE("a plan names its members in order", "[wire]") {
    const auto members = [](std::size_t count) {
        return accepts<Plan>([&](Plan& m) {
            m.members.clear();
            for (const PeerKey& key : ascending_keys(count)) m.members.push_back({key, Samples{0}});
            for (ChunkRange& range : m.ranges) range.member = PeerIndex{0};
            for (ReducerEndpoint& reducer : m.reducers) reducer.member = PeerIndex{0};
            m.relays.clear();
        });
    };
    REQUIRE(members(1));
    REQUIRE_FALSE(members(0));
    REQUIRE(members(kMaxMembers));
    REQUIRE_FALSE(members(kMaxMembers + 1));
    REQUIRE_FALSE(accepts<Plan>([](Plan& m) { m.members.push_back(m.members.back()); }));
    REQUIRE_FALSE(accepts<Plan>([](Plan& m) { m.members.push_back({PeerKey{}, Samples{0}}); }));
    REQUIRE(accepts<Plan>([](Plan& m) { m.members[0].samples = Samples{kMaxSamples}; }));
    REQUIRE_FALSE(accepts<Plan>([](Plan& m) { m.members[0].samples = Samples{kMaxSamples + 1}; }));
    REQUIRE_FALSE(accepts<Plan>([](Plan& m) { m.members[0].loss_sum = kNan; }));
    const auto exponent = [](int value) {
        return accepts<Plan>(
            [&](Plan& m) { m.members.back().exponent = static_cast<std::uint8_t>(value); });
    };
    REQUIRE(exponent(0));
    REQUIRE(exponent(kMinInt8Exponent));
    REQUIRE(exponent(kMaxHalfExponent));
    REQUIRE_FALSE(exponent(kMaxHalfExponent + 1));
    const auto expected = [](std::uint32_t milliseconds) {
        return accepts<Plan>(
            [&](Plan& m) { m.expected = std::chrono::milliseconds{milliseconds}; });
    };
    REQUIRE(expected(kMaxExpectedMilliseconds));
    REQUIRE_FALSE(expected(kMaxExpectedMilliseconds + 1));
    for (const std::uint32_t bad : {kNanBits, kInfinityBits, kMinusOneBits}) {
        REQUIRE_FALSE(accepts<Plan>([&](Plan& m) { m.scalars.learning_rate = bad; }));
        REQUIRE_FALSE(accepts<Plan>([&](Plan& m) { m.scalars.first_correction = bad; }));
        REQUIRE_FALSE(accepts<Plan>([&](Plan& m) { m.scalars.second_correction = bad; }));
    }
    for (const std::uint32_t bad : {0u, UpdateScalars::kOne + 1}) {
        REQUIRE_FALSE(accepts<Plan>([&](Plan& m) { m.scalars.first_correction = bad; }));
        REQUIRE_FALSE(accepts<Plan>([&](Plan& m) { m.scalars.second_correction = bad; }));
    }
}

TEST_CASE("a plan divides the vector into chunks and ranges without gaps", "[wire]") {
    const auto plan_of = [](std::uint64_t elements, std::uint32_t chunk_elements,
                            std::vector<ChunkRange> ranges) {
        return accepts<Plan>([&](Plan& m) {
            m.elements = elements;
            m.chunk_elements = chunk_elements;
            m.ranges = std::move(ranges);
        });
    };
    const auto at = [](std::uint32_t first, std::uint32_t last, std::uint32_t member = 0) {
        return ChunkRange{PeerIndex{member}, first, last};
    };
    REQUIRE(plan_of(20, 10, {at(0, 1), at(1, 2)}));
    REQUIRE(plan_of(11, 10, {at(0, 2)}));
    REQUIRE_FALSE(plan_of(21, 10, {at(0, 2)}));
    REQUIRE_FALSE(plan_of(10, 10, {at(0, 2)}));
    REQUIRE_FALSE(plan_of(20, 10, {at(1, 2)}));
    REQUIRE_FALSE(plan_of(30, 10, {at(0, 1), at(2, 3)}));
    REQUIRE_FALSE(plan_of(30, 10, {at(0, 2), at(1, 3)}));
    REQUIRE_FALSE(plan_of(20, 10, {at(0, 1), at(1, 1), at(1, 2)}));
    REQUIRE_FALSE(plan_of(20, 10, {at(0, 2, 9'999)}));
    REQUIRE_FALSE(plan_of(20, 10, {}));
    REQUIRE_FALSE(plan_of(0, 10, {}));
    REQUIRE_FALSE(plan_of(10, 0, {at(0, 1)}));
    const auto max = static_cast<std::uint32_t>(kChunkElements);
    REQUIRE(plan_of(10, max, {at(0, 1)}));
    REQUIRE_FALSE(plan_of(10, max + 1, {at(0, 1)}));
    const auto all = static_cast<std::uint32_t>(kMaxElements / kChunkElements);
    REQUIRE(plan_of(kMaxElements, max, {at(0, all)}));
    REQUIRE_FALSE(plan_of(kMaxElements + 1, max, {at(0, all + 1)}));
    const auto chunks = static_cast<std::uint32_t>(kMaxChunks);
    REQUIRE(plan_of(kMaxChunks, 1, {at(0, chunks)}));
    REQUIRE_FALSE(plan_of(kMaxChunks + 1, 1, {at(0, chunks + 1)}));
    const auto single_chunks = [&](std::size_t count) {
        std::vector<ChunkRange> ranges;
        for (std::uint32_t i = 0; i < count; ++i) ranges.push_back(at(i, i + 1));
        return plan_of(count, 1, std::move(ranges));
    };
    REQUIRE(single_chunks(kMaxRanges));
    REQUIRE_FALSE(single_chunks(kMaxRanges + 1));
}

TEST_CASE("a plan has addresses of its reducers", "[wire]") {
    const auto reducers = [](std::size_t count, Endpoint endpoint, std::uint32_t member = 0) {
        return accepts<Plan>([&](Plan& m) {
            m.reducers.assign(count, {PeerIndex{member}, endpoint});
        });
    };
    const Endpoint here{"198.51.100.3", 40'000};
    REQUIRE(reducers(0, here));
    REQUIRE(reducers(kMaxReducers, here));
    REQUIRE_FALSE(reducers(kMaxReducers + 1, here));
    REQUIRE_FALSE(reducers(1, here, 9'999));
    REQUIRE_FALSE(reducers(1, {"198.51.100.3", 0}));
    REQUIRE_FALSE(reducers(1, {"", 0}));
    REQUIRE_FALSE(reducers(1, {"localhost", 40'000}));
}

TEST_CASE("a plan's relays are different members", "[wire]") {
    const auto relays = [](std::vector<std::uint32_t> indices) {
        return accepts<Plan>([&](Plan& m) {
            m.members.clear();
            for (const PeerKey& key : ascending_keys(3)) m.members.push_back({key, Samples{0}});
            for (ChunkRange& range : m.ranges) range.member = PeerIndex{0};
            m.reducers.clear();
            m.relays = std::move(indices);
        });
    };
    REQUIRE(relays({}));
    REQUIRE(relays({0, 2}));
    REQUIRE_FALSE(relays({3}));
    REQUIRE_FALSE(relays({1, 1}));
    REQUIRE_FALSE(relays({2, 1}));
    check_limit<Relay>(&Relay::frame, Buffer(kMaxRelayedBytes), Buffer(kMaxRelayedBytes + 1));
    check_limit<Relay>(&Relay::frame, Buffer(1), Buffer{});
}

TEST_CASE("every bound of the project's orders is kept", "[wire]") {
    const auto count = [](Pause & m) -> auto& {
        return m.pause.count;
    };
    check_limit<Pause>(count, kMaxPauseCount, kMaxPauseCount + 1);
    check_limit<Pause>(count, std::uint64_t{1}, std::uint64_t{0});
    check_limit<RevocationList>(&RevocationList::list, Buffer(kMaxRevocationsBytes),
                                Buffer(kMaxRevocationsBytes + 1));
    check_limit<RevocationList>(&RevocationList::list, Buffer(1), Buffer{});
}

TEST_CASE("every bound of an assignment is kept", "[wire]") {
    constexpr auto kFastest = static_cast<double>(kMaxSamplesPerSecond);
    check_limit<TurnChange>(&TurnChange::kind, TurnKind::kRest, static_cast<TurnKind>(5));
    check_limit<TurnChange>(&TurnChange::every, kMaxStaleSteps, kMaxStaleSteps + 1);
    check_limit<TurnChange>(&TurnChange::every, 1u, 0u);
    for (const auto speed : {&TurnChange::speed_with, &TurnChange::speed_now}) {
        check_limit<TurnChange>(speed, kFastest, 2 * kFastest);
        check_limit<TurnChange>(speed, 0.0, -1.0);
        check_limit<TurnChange>(speed, 0.0, std::nan(""));
    }
}

TEST_CASE("every bound of a state's messages is kept", "[wire]") {
    const auto offer = [](std::uint64_t bytes, std::size_t leaves) {
        StateOffer offer_of;
        offer_of.bytes = bytes;
        offer_of.leaves.resize(leaves);
        return is_accepted(offer_of);
    };
    REQUIRE(offer(1, 1));
    REQUIRE(offer(kLeafBytes, 1));
    REQUIRE(offer(kLeafBytes + 1, 2));
    REQUIRE_FALSE(offer(0, 1));
    REQUIRE_FALSE(offer(0, 0));
    REQUIRE_FALSE(offer(kLeafBytes, 2));
    REQUIRE_FALSE(offer(kLeafBytes + 1, 1));
    REQUIRE(offer(kMaxOfferedLeaves * kLeafBytes, kMaxOfferedLeaves));
    // An offer of one more leaf has the digests of the list's four pages instead.
    for (const std::size_t pages : {std::size_t{3}, std::size_t{5}, kMaxOfferedLeaves + 1}) {
        REQUIRE_FALSE(offer(kMaxOfferedLeaves * kLeafBytes + 1, pages));
    }
    REQUIRE(offer(kMaxOfferedLeaves * kLeafBytes + 1, 4));
    REQUIRE(offer(std::uint64_t{48} << 30, 24));
    REQUIRE_FALSE(offer((std::uint64_t{48} << 30) + 1, 25));
    REQUIRE_FALSE(offer(UINT64_MAX, 24));
    check_limit<RoundOffer>(&RoundOffer::leaves, std::vector<Digest>(kMaxOfferedLeaves),
                            std::vector<Digest>(kMaxOfferedLeaves + 1));
    check_limit<RoundOffer>(&RoundOffer::leaves, std::vector<Digest>(1), std::vector<Digest>{});
    const auto leaves = static_cast<std::uint32_t>(kMaxLeaves);
    check_limit<LeafRequest>(&LeafRequest::leaf, leaves - 1, leaves);
    check_limit<Leaf>(&Leaf::leaf, leaves - 1, leaves);
    check_limit<Leaf>(&Leaf::data, Buffer(kLeafBytes), Buffer(kLeafBytes + 1));
    REQUIRE(accepts<Leaf>([](Leaf& m) { m.data.clear(); }));
}

TEST_CASE("records outside their bounds are not read from a backbone's files", "[wire]") {
    VoterState state;
    state.step = StepIndex{kMaxStep};
    REQUIRE(decode_voter_state(pack(state)).has_value());
    state.step = StepIndex{kMaxStep + 1};
    REQUIRE_FALSE(decode_voter_state(pack(state)).has_value());
    state.step = StepIndex{0};
    for (Term* term : {&state.promised, &state.accepted_in}) {
        term->number = kMaxTermNumber;
        REQUIRE(decode_voter_state(pack(state)).has_value());
        term->number = kMaxTermNumber + 1;
        REQUIRE_FALSE(decode_voter_state(pack(state)).has_value());
        term->number = 0;
    }
    SignedGeneration generation;
    generation.record.voters = ascending_keys(3);
    REQUIRE_FALSE(decode_generation(pack(generation)).has_value());
    generation.record.generation = 1;
    REQUIRE(decode_generation(pack(generation)).has_value());
    generation.record.voters = ascending_keys(kMaxVoters + 1);
    REQUIRE_FALSE(decode_generation(pack(generation)).has_value());
    generation.record.voters.clear();
    REQUIRE_FALSE(decode_generation(pack(generation)).has_value());
    Decision decision = good<Decision>();
    REQUIRE(decode_decision(pack(decision)).has_value());
    decision.certificate.votes.clear();
    REQUIRE_FALSE(decode_decision(pack(decision)).has_value());
    decision = good<Decision>();
    decision.certificate.term.number = kMaxTermNumber + 1;
    REQUIRE_FALSE(decode_decision(pack(decision)).has_value());
}
