// Messages and records with random fields within all bounds, for tests and for seeds of fuzzing.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/loss_bound.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::tests {

inline KeyPair test_key(std::uint8_t n = 1) {
    std::array<std::byte, 32> seed{};
    seed[0] = std::byte{n};
    return KeyPair::from_seed(seed);
}

/// A ticket for test_key(n) in run 0, issued at 1,000,000 and valid for an hour.
inline formats::Ticket test_ticket(std::uint8_t n) {
    const formats::UtcSeconds issued{std::chrono::seconds{1'000'000}};
    return {.run = {},
            .peer = test_key(n).public_key(),
            .job = {.user = 100U + n, .host = 200U + n, .result = 300U + n},
            .max_samples_per_second = 400U + n,
            .issued = issued,
            .expires = issued + std::chrono::hours{1}};
}

class WireSamples {
  public:
    explicit WireSamples(std::uint64_t seed) : random_(seed) {}

    /// The body with this index in wire::Body; lists have up to `max` elements.
    wire::Body body(std::size_t index, std::size_t max = 12) {
        max_ = max;
        return body_at(index, std::make_index_sequence<std::variant_size_v<wire::BodyKinds>>{});
    }
    wire::Message message(wire::Body body, const KeyPair& key) {
        return {.run = bytes<RunId>(),
                .generation = random_.below(wire::kMaxGeneration + 1),
                .step = step(),
                .sequence = random_.next(),
                .sender = key.public_key(),
                .body = std::move(body)};
    }

    void make(CommitRecord& record) {
        record = {.generation = random_.below(wire::kMaxGeneration + 1),
                  .step = step(),
                  .previous_record = bytes<Digest>(),
                  .previous_state = bytes<Digest>(),
                  .members = {},
                  .average = bytes<Digest>(),
                  .scalars = scalars()};
        for (const PeerKey& key : keys()) {
            const Samples count = samples();
            record.members.push_back({key, count, loss_sum(count), random_.below(1'000)});
        }
        record.members.back().reduced += 1;
    }
    void make(Certificate& certificate) {
        certificate.term = term();
        certificate.votes = votes();
    }
    void make(SignedGeneration& generation) {
        generation = {.record = {.generation = 1 + random_.below(wire::kMaxGeneration),
                                 .step = step(),
                                 .state = bytes<Digest>(),
                                 .voters = voters()},
                      .signature = signature()};
    }
    void make(VoterState& state) {
        state = {.generation = random_.below(wire::kMaxGeneration + 1),
                 .step = step(),
                 .may_vote = coin(),
                 .promised = term(),
                 .accepted_in = term(),
                 .accepted = maybe_record(),
                 .state = {}};
        if (coin()) state.state = bytes<Digest>();
    }
    void make(Decision& decision) {
        make(decision.record);
        make(decision.certificate);
    }

    // One function for each body.

    void make(wire::Challenge& m) { m.nonce = bytes<Digest>(); }
    void make(wire::Hello& m) {
        const auto oldest = static_cast<std::uint16_t>(random_.below(100));
        m = {.oldest_protocol = oldest,
             .newest_protocol = static_cast<std::uint16_t>(oldest + random_.below(100)),
             .session = random_.next(),
             .role = static_cast<Role>(random_.below(3)),
             .receives = coin(),
             .listening_port = static_cast<std::uint16_t>(random_.below(65'536)),
             .result_name = text(wire::kMaxResultNameBytes),
             .nonce = bytes<Digest>()};
    }
    void make(wire::Leave&) {}
    void make(wire::Refusal& m) { m.reason = text(wire::kMaxReasonBytes); }
    void make(wire::Heartbeat& m) {
        m = {.has_state = coin(),
             .state = bytes<Digest>(),
             .record = bytes<Digest>(),
             .samples = samples(),
             .samples_per_second = random_.uniform() * 1e4,
             .upload = bandwidth(),
             .download = bandwidth(),
             .is_frozen = coin(),
             .may_vote = coin(),
             .term = term(),
             .attempt = word(),
             .pause_count = word(),
             .listening_port =
                 coin() ? std::optional{static_cast<std::uint16_t>(word())} : std::nullopt,
             .round = std::chrono::milliseconds{random_.below(wire::kMaxRoundMilliseconds + 1)}};
    }
    void make(wire::Generation& m) { make(m.generation); }
    void make(wire::Elect& m) { m.term = term(); }
    void make(wire::Promise& m) {
        m = {.term = term(),
             .granted = coin(),
             .promised = term(),
             .accepted_in = term(),
             .accepted = maybe_record()};
    }
    void make(wire::Call& m) { m.term = term(); }
    void make(wire::Join& m) {
        const Samples count = samples();
        m = {.term = term(),
             .contribution_id = word(),
             .samples = count,
             .loss_sum = loss_sum(count),
             .is_finite = coin(),
             .receives = coin(),
             .state = bytes<Digest>(),
             .upload = bandwidth(),
             .download = bandwidth(),
             .exponent = exponent()};
    }
    void make(wire::Plan& m) {
        m.term = term();
        m.attempt = word();
        m.chunk_elements = 1 + static_cast<std::uint32_t>(random_.below(wire::kChunkElements));
        m.scalars = scalars();
        for (const PeerKey& key : keys()) {
            const Samples count = samples();
            m.members.push_back({key, count, loss_sum(count), word(), coin(), exponent()});
        }
        const auto count = static_cast<std::uint32_t>(m.members.size());
        std::uint32_t chunks = 0;
        for (std::size_t i = 0, ranges = some(); i < ranges; ++i) {
            const auto end = chunks + 1 + static_cast<std::uint32_t>(random_.below(9));
            m.ranges.push_back({index_below(count), chunks, end});
            chunks = end;
        }
        m.elements = std::uint64_t{chunks} * m.chunk_elements - random_.below(m.chunk_elements);
        for (std::size_t i = 0, reducers = std::min(some(), wire::kMaxReducers); i < reducers;
             ++i) {
            m.reducers.push_back({index_below(count), endpoint()});
        }
        for (std::uint32_t k = 0; k < count && m.relays.size() < wire::kMaxReducers; ++k) {
            if (coin()) m.relays.push_back(k);
        }
        m.expected = std::chrono::milliseconds{random_.below(wire::kMaxExpectedMilliseconds)};
    }
    void make(wire::Cancel& m) { m.term = term(); }
    void make(wire::Chunk& m) {
        m.kind = static_cast<wire::ChunkKind>(random_.below(2));
        m.sum_id = random_.next();
        m.chunk = static_cast<std::uint32_t>(random_.below(wire::kMaxChunks));
        FloatVector elements(some());
        for (float& x : elements) x = static_cast<float>(random_.near_normal());
        m.chunk_elements = static_cast<std::uint32_t>(elements.size());
        m.elements = std::move(elements);
        const auto codec = static_cast<Codec>(random_.below(kCodecNames.size()));
        if (codec == Codec::kFp32) return;
        if (codec == Codec::kInt8) return make_blocks(m);
        std::vector<std::uint16_t> bits(m.chunk_elements);
        for (std::uint16_t& x : bits) x = static_cast<std::uint16_t>(random_.next());
        m.elements = wire::Bfloats{.bits = bits};
        if (codec == Codec::kFp16) m.elements = wire::Halves{.bits = bits, .exponent = scale()};
    }
    /// As many elements as there are, in int8.
    void make_blocks(wire::Chunk& m) {
        std::vector<std::int8_t> codes(count_of(m.elements));
        for (auto& code : codes) code = static_cast<std::int8_t>(random_.below(255) - 127);
        const std::size_t blocks =
            (codes.size() + wire::kInt8BlockElements - 1) / wire::kInt8BlockElements;
        std::vector<std::uint8_t> exponents(blocks);
        for (auto& e : exponents) e = static_cast<std::uint8_t>(1 + random_.below(238));
        m.chunk_elements = static_cast<std::uint32_t>(blocks * wire::kInt8BlockElements);
        m.elements = wire::Int8Blocks{.codes = std::move(codes), .exponents = std::move(exponents)};
    }
    void make(wire::Reduced& m) { m = {term(), word()}; }
    void make(wire::Stalled& m) { m = {term(), word(), indices(), indices(), indices()}; }
    void make(wire::Ready& m) { m = {term(), word(), bytes<Digest>()}; }
    void make(wire::Propose& m) {
        m = {.term = term(),
             .attempt = word(),
             .digest = bytes<Digest>(),
             .average = bytes<Digest>(),
             .previous_state = bytes<Digest>(),
             .record = maybe_record()};
    }
    void make(wire::Accept& m) { m = {term(), bytes<Digest>(), signature()}; }
    void make(wire::Commit& m) {
        m.digest = bytes<Digest>();
        make(m.certificate);
        m.attempt = word();
        m.average = bytes<Digest>();
        m.previous_state = bytes<Digest>();
        m.record = maybe_record();
    }
    void make(wire::StateVotes& m) { m = {bytes<Digest>(), bytes<Digest>(), votes()}; }
    void make(wire::CommitQuery&) {}
    void make(wire::StateQuery& m) { m.has_state = coin(); }
    void make(wire::StateOffer& m) {
        m.leaves = digests();
        m.bytes = m.leaves.size() * wire::kLeafBytes - random_.below(wire::kLeafBytes);
        m.record = bytes<Digest>();
        if (coin()) m.votes = votes();
    }
    void make(wire::RoundOffer& m) {
        make(m.record);
        make(m.certificate);
        m.leaves = digests();
    }
    void make(wire::LeafRequest& m) { m = {bytes<Digest>(), leaf()}; }
    void make(wire::Leaf& m) {
        m = {.root = bytes<Digest>(), .leaf = leaf(), .data = Buffer(some() - 1)};
        for (std::byte& byte : m.data) byte = static_cast<std::byte>(random_.below(256));
    }

    void make(wire::Relay& m) {
        m.frame = Buffer(some());
        for (std::byte& byte : m.frame) byte = static_cast<std::byte>(random_.below(256));
    }

    void make(wire::Pause& m) {
        m.pause = {.count = 1 + random_.below(wire::kMaxPauseCount), .signature = signature()};
    }
    void make(wire::RevocationList& m) {
        m.list = Buffer(some());
        for (std::byte& byte : m.list) byte = static_cast<std::byte>(random_.below(256));
    }

    void make(wire::Mixture& m) {
        m.list = Buffer(some());
        for (std::byte& byte : m.list) byte = static_cast<std::byte>(random_.below(256));
    }

    void make(wire::TurnChange& m) {
        m = {.term = term(),
             .kind = static_cast<TurnKind>(random_.below(5)),
             .every = static_cast<std::uint32_t>(1 + random_.below(wire::kMaxStaleSteps)),
             .speed_with = 1'000 * random_.uniform(),
             .speed_now = 1'000 * random_.uniform()};
    }

    void make(wire::PlanChange& m) {
        wire::Plan plan;
        make(plan);
        m = {.term = plan.term,
             .attempt = std::max(plan.attempt, 2U),
             .base = 1,
             .removed = indices(),
             .ranges = plan.ranges,
             .reducers = plan.reducers,
             .relays = plan.relays,
             .digest = bytes<Digest>()};
        if (coin()) m.ranges.erase(m.ranges.begin());
    }
    void make(wire::PlanQuery& m) { m = {term(), std::max(word(), 1U)}; }
    void make(wire::SliceQuery& m) {
        wire::Plan plan;
        make(plan);
        m = {.sum_id = random_.next(), .chunk_elements = plan.chunk_elements, .chunks = {}};
        for (const wire::ChunkRange& range : plan.ranges) {
            m.chunks.push_back({range.first_chunk, range.last_chunk});
        }
    }

    /// Strictly ascending, at least one.
    std::vector<PeerKey> keys() {
        std::vector<PeerKey> keys(some());
        for (PeerKey& key : keys) key = bytes<PeerKey>();
        std::sort(keys.begin(), keys.end());
        return keys;
    }
    template <class Value>
    Value bytes() {
        Value value;
        for (std::byte& byte : value.bytes) byte = static_cast<std::byte>(random_.below(256));
        return value;
    }

  private:
    template <std::size_t... I>
    wire::Body body_at(std::size_t index, std::index_sequence<I...>) {
        wire::Body body;
        const auto make_if = [&](auto at) {
            if (at != index) return;
            make(body.emplace<at()>());
        };
        (make_if(std::integral_constant<std::size_t, I>{}), ...);
        return body;
    }

    std::size_t some() { return 1 + random_.below(max_); }
    bool coin() { return random_.below(2) == 1; }
    std::uint32_t word() { return static_cast<std::uint32_t>(random_.next()); }
    Samples samples() { return Samples{random_.below(wire::kMaxSamples + 1)}; }
    double loss_sum(Samples count) {
        return (2 * random_.uniform() - 1) * wire::greatest_loss_sum(count);
    }
    StepIndex step() { return StepIndex{random_.below(wire::kMaxStep + 1)}; }
    std::optional<Bandwidth> bandwidth() {
        return known_bandwidth(random_.below(wire::kMaxBytesPerSecond + 1));
    }
    std::uint32_t leaf() { return static_cast<std::uint32_t>(random_.below(wire::kMaxLeaves)); }
    Term term() { return {random_.below(wire::kMaxTermNumber + 1), bytes<PeerKey>()}; }
    /// An exponent of halves.
    std::uint8_t scale() {
        constexpr auto kScales = wire::kMaxHalfExponent - wire::kMinHalfExponent + 1;
        return static_cast<std::uint8_t>(wire::kMinHalfExponent +
                                         random_.below(std::uint64_t{kScales}));
    }
    /// The exponent of a member; 0 as with other codecs.
    std::uint8_t exponent() { return coin() ? scale() : std::uint8_t{0}; }
    std::vector<PeerKey> voters() {
        std::vector<PeerKey> all = keys();
        all.resize(std::min(all.size(), wire::kMaxVoters));
        return all;
    }
    std::vector<Vote> votes() {
        std::vector<Vote> all;
        for (const PeerKey& voter : voters()) all.push_back({voter, signature()});
        return all;
    }
    UpdateScalars scalars() {
        const auto bits = [](double value) {
            return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        };
        return {.learning_rate = bits(random_.uniform()),
                .first_correction = bits(1 - 0.999 * random_.uniform()),
                .second_correction = bits(1 - 0.999 * random_.uniform())};
    }
    PeerIndex index_below(std::uint32_t count) {
        return PeerIndex{static_cast<std::uint32_t>(random_.below(count))};
    }
    Endpoint endpoint() {
        const std::string last = std::to_string(random_.below(256));
        return {coin() ? "10.200.30." + last : "2001:db8::" + last,
                static_cast<std::uint16_t>(1 + random_.below(65'535))};
    }
    std::string text(std::size_t limit) {
        return std::string(random_.below(std::min(limit, max_) + 1), 'x');
    }
    Signature signature() {
        Signature signature;
        for (std::byte& byte : signature) byte = static_cast<std::byte>(random_.below(256));
        return signature;
    }
    std::vector<Digest> digests() {
        std::vector<Digest> all(some());
        for (Digest& digest : all) digest = bytes<Digest>();
        return all;
    }
    std::vector<std::uint32_t> indices() {
        std::vector<std::uint32_t> all;
        for (std::uint32_t i = 0; i < wire::kMaxMembers && all.size() < max_; ++i) {
            if (random_.below(4) == 0) all.push_back(i);
        }
        return all;
    }
    std::optional<CommitRecord> maybe_record() {
        std::optional<CommitRecord> record;
        if (coin()) make(record.emplace());
        return record;
    }

    Random random_;
    std::size_t max_ = 12;
};

}  // namespace dedloc::tests
