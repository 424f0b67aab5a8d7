// Forged bodies keep every limit of the wire format, forged records chain to the peer's real head,
// and all signatures are valid ones of the adversary's key. What is wrong is that this key has no
// vote, or that a digest matches no data.
#include "tests/hostile/forgery.hpp"

#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "peer/wire/limits.hpp"

namespace dedloc::hostile {
namespace {

constexpr std::uint64_t kHighTerm = std::uint64_t{1} << 40;
constexpr std::uint64_t kForgedSamples = std::uint64_t{1} << 30;
constexpr std::uint16_t kFirstPort = 20'000;
constexpr std::uint32_t kHosts = 200;

// Bit patterns of binary16.
constexpr std::uint16_t kHalfNan = 0x7e00;
constexpr std::uint16_t kHalfInfinity = 0x7c00;
constexpr std::uint16_t kHalfFinite = 0x3bff;  // smaller patterns are positive finite numbers
// Bit patterns of bfloat16.
constexpr std::uint16_t kBfloatNan = 0x7fc0;
constexpr std::uint16_t kBfloatInfinity = 0x7f80;
constexpr std::uint16_t kBfloatThousand = 0x447a;  // smaller patterns are numbers from 0 to 1,000
constexpr std::uint64_t kLastBits = 0x7f;          // lowest bits of any fraction

}  // namespace

bool is_storm_endpoint(const Endpoint& endpoint) {
    return endpoint.host.starts_with(kStormNetwork);
}

Digest random_digest(Random& random) {
    Digest digest;
    for (std::byte& b : digest.bytes) b = static_cast<std::byte>(random.below(256));
    return digest;
}

Digest forged_average(StepIndex step) {
    Random random = Random{step.value()}.split(3);
    return random_digest(random);
}

Digest Forger::random_digest() {
    return hostile::random_digest(random_);
}

Term Forger::high_term() const {
    return {.number = kHighTerm, .coordinator = key_.public_key()};
}

CommitRecord Forger::record(const Standing& standing) {
    return {.generation = standing.generation,
            .step = standing.step,
            .previous_record = standing.record,
            .previous_state = standing.state,
            .members = {{.peer = key_.public_key(),
                         .samples = Samples{kForgedSamples},
                         .reduced = elements_}},
            .average = random_digest(),
            .scalars = {}};
}

wire::Promise Forger::promise(const Standing& standing, const Term& asked) {
    return {.term = asked,
            .granted = true,
            .promised = high_term(),
            .accepted_in = high_term(),
            .accepted = record(standing)};
}

Certificate Forger::certificate(const Standing& standing, const Term& term,
                                const Digest& digest) const {
    const Signature signature = key_.sign(vote_bytes(standing.run, term, digest));
    return {.term = term, .votes = {{.voter = key_.public_key(), .signature = signature}}};
}

std::vector<wire::Body> Forger::voters_words(const Standing& standing) {
    const Term term = high_term();
    const CommitRecord forged = record(standing);
    const Digest digest = digest_of(forged);
    const Certificate own = certificate(standing, term, digest);
    return {wire::Elect{term},
            promise(standing, term),
            wire::Propose{.term = term,
                          .attempt = 0,
                          .digest = digest,
                          .average = forged.average,
                          .previous_state = forged.previous_state,
                          .record = forged},
            wire::Accept{.term = term, .digest = digest, .signature = own.votes.front().signature},
            wire::Commit{.digest = digest,
                         .certificate = own,
                         .attempt = 0,
                         .average = forged.average,
                         .previous_state = forged.previous_state,
                         .record = forged},
            state_votes(standing, standing.step.next(), digest, random_digest())};
}

wire::StateVotes Forger::false_votes(const Standing& standing, const PeerKey& voter) {
    wire::StateVotes votes =
        state_votes(standing, standing.step.next(), random_digest(), random_digest());
    votes.votes.front().voter = voter;
    return votes;
}

wire::StateVotes Forger::state_votes(const Standing& standing, StepIndex step,
                                     const Digest& head_record, const Digest& state) {
    const StateCertificate certificate{.generation = standing.generation,
                                       .step = step,
                                       .record = head_record,
                                       .state = state,
                                       .votes = {}};
    const Signature signature = key_.sign(state_vote_bytes(standing.run, certificate));
    return {.record = head_record,
            .state = state,
            .votes = {{.voter = key_.public_key(), .signature = signature}}};
}

wire::StateOffer Forger::state_offer(const Standing& standing, std::uint64_t bytes) {
    const std::uint64_t leaves = (bytes + wire::kLeafBytes - 1) / wire::kLeafBytes;
    wire::StateOffer offer{.bytes = bytes, .leaves = {}, .record = random_digest(), .votes = {}};
    for (std::uint64_t i = 0; i < leaves; ++i) offer.leaves.push_back(random_digest());
    offer.votes = state_votes(standing, standing.step, offer.record, random_digest()).votes;
    return offer;
}

wire::RoundOffer Forger::round_offer(const Standing& standing) {
    const CommitRecord forged = record(standing);
    return {.record = forged,
            .certificate = certificate(standing, high_term(), digest_of(forged)),
            .leaves = {random_digest()}};
}

wire::Plan Forger::storm_plan(const Term& term) {
    wire::Plan plan{.term = term,
                    .attempt = 1,
                    .elements = 1,
                    .chunk_elements = 1,
                    .scalars = {},
                    .members = {{.peer = key_.public_key(), .samples = Samples{1}}},
                    .ranges = {{.member = PeerIndex{0}, .first_chunk = 0, .last_chunk = 1}},
                    .reducers = {},
                    .relays = {},
                    .expected = {}};
    for (std::size_t i = 0; i < wire::kMaxReducers; ++i) {
        const auto port = static_cast<std::uint16_t>(kFirstPort + random_.below(kFirstPort));
        plan.reducers.push_back(
            {.member = PeerIndex{0},
             .endpoint = {kStormNetwork + std::to_string(1 + random_.below(kHosts)), port}});
    }
    return plan;
}

wire::Heartbeat Forger::heartbeat_of_other_term(const wire::Heartbeat& heartbeat) {
    wire::Heartbeat other = heartbeat;
    other.term.number = 1 + random_.below(kHighTerm);
    return other;
}

wire::Chunk Forger::early_chunk(const wire::Chunk& chunk) {
    wire::Chunk early = chunk;
    early.kind = random_.below(2) == 0 ? wire::ChunkKind::kScatter : wire::ChunkKind::kGather;
    early.sum_id = random_.next();
    return early;
}

wire::Join Forger::empty_join(const Term& term, const Digest& state) const {
    return {.term = term, .contribution_id = 1, .samples = {}, .receives = true, .state = state};
}

wire::Elements Forger::nudged(const wire::Elements& elements, std::uint64_t receiver) const {
    if (const auto* halves = std::get_if<wire::Halves>(&elements)) {
        std::vector<std::uint16_t> bits = halves->bits.copy();
        bits.front() ^= static_cast<std::uint16_t>(receiver & kLastBits);
        return wire::Halves{.bits = std::move(bits), .exponent = halves->exponent};
    }
    if (const auto* bfloats = std::get_if<wire::Bfloats>(&elements)) {
        std::vector<std::uint16_t> bits = bfloats->bits.copy();
        bits.front() ^= static_cast<std::uint16_t>(receiver & kLastBits);
        return wire::Bfloats{.bits = std::move(bits)};
    }
    if (const auto* blocks = std::get_if<wire::Int8Blocks>(&elements)) {
        std::vector<std::int8_t> codes = blocks->codes.copy();
        codes.front() = static_cast<std::int8_t>(receiver & kLastBits);
        return wire::Int8Blocks{.codes = std::move(codes), .exponents = blocks->exponents};
    }
    std::vector<float> values = std::get<SharedSlice<float>>(elements).copy();
    const auto bits = std::bit_cast<std::uint32_t>(values.front());
    values.front() = std::bit_cast<float>(bits ^ static_cast<std::uint32_t>(receiver & kLastBits));
    return SharedSlice<float>{std::move(values)};
}

wire::Elements Forger::garbage(const wire::Elements& elements, Random random) const {
    const std::size_t count = count_of(elements);
    const auto below = [&](std::uint16_t end) {
        std::vector<std::uint16_t> bits(count);
        for (std::uint16_t& b : bits) b = static_cast<std::uint16_t>(random.below(end));
        return bits;
    };
    if (const auto* halves = std::get_if<wire::Halves>(&elements)) {
        return wire::Halves{.bits = below(kHalfFinite), .exponent = halves->exponent};
    }
    if (std::holds_alternative<wire::Bfloats>(elements)) {
        return wire::Bfloats{.bits = below(kBfloatThousand)};
    }
    if (const auto* blocks = std::get_if<wire::Int8Blocks>(&elements)) {
        std::vector<std::int8_t> codes(count);
        for (std::int8_t& code : codes) {
            const auto above_min = static_cast<int>(random.below(2 * wire::kMaxInt8Code + 1));
            code = static_cast<std::int8_t>(above_min - wire::kMaxInt8Code);
        }
        return wire::Int8Blocks{.codes = std::move(codes), .exponents = blocks->exponents};
    }
    std::vector<float> values(count);
    for (float& x : values) x = static_cast<float>(1000 * (random.uniform() - 0.5));
    return SharedSlice<float>{std::move(values)};
}

wire::Elements Forger::not_finite(const wire::Elements& elements, bool is_nan) const {
    if (const auto* halves = std::get_if<wire::Halves>(&elements)) {
        std::vector<std::uint16_t> bits = halves->bits.copy();
        bits.back() = is_nan ? kHalfNan : kHalfInfinity;
        return wire::Halves{.bits = std::move(bits), .exponent = halves->exponent};
    }
    if (const auto* bfloats = std::get_if<wire::Bfloats>(&elements)) {
        std::vector<std::uint16_t> bits = bfloats->bits.copy();
        bits.back() = is_nan ? kBfloatNan : kBfloatInfinity;
        return wire::Bfloats{.bits = std::move(bits)};
    }
    std::vector<float> values = std::get<SharedSlice<float>>(elements).copy();
    using Limits = std::numeric_limits<float>;
    values.back() = is_nan ? Limits::quiet_NaN() : Limits::infinity();
    return SharedSlice<float>{std::move(values)};
}

wire::Elements Forger::not_as_joined(const wire::Elements& elements) const {
    if (const auto* blocks = std::get_if<wire::Int8Blocks>(&elements)) {
        std::vector<std::uint8_t> exponents = blocks->exponents.copy();
        exponents.back() = wire::kMaxInt8Exponent;
        return wire::Int8Blocks{.codes = blocks->codes, .exponents = std::move(exponents)};
    }
    wire::Halves halves = std::get<wire::Halves>(elements);
    halves.exponent = wire::kMaxHalfExponent;
    return halves;
}

}  // namespace dedloc::hostile
