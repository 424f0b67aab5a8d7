#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "peer/formats/ticket.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;

TEST_CASE("line_of finds a member's line and nothing for other peers", "[wire]") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        WireSamples samples{seed};
        CommitRecord record;
        samples.make(record);
        for (const CommitLine& line : record.members) {
            REQUIRE(line_of(record, line.peer) == &line);
            CommitRecord others = record;
            std::erase(others.members, line);
            REQUIRE(line_of(others, line.peer) == nullptr);
        }
        REQUIRE(line_of(record, samples.bytes<PeerKey>()) == nullptr);
    }
}

TEST_CASE("reduced bytes are those that other members sent, in the codec of the run", "[wire]") {
    WireSamples samples{4};
    CommitRecord record;
    const auto line = [&](std::uint64_t count, std::uint64_t reduced) {
        record.members.push_back({.peer = samples.bytes<PeerKey>(),
                                  .samples = Samples{count},
                                  .loss_sum = 0,
                                  .reduced = reduced});
    };
    using Counts = std::vector<std::uint64_t>;
    line(5, 100);
    CHECK(reduced_bytes(record, Codec::kFp32) == Counts{0});  // its own contribution alone
    line(0, 1'000);                                           // an aggregator
    line(7, 0);
    line(1, 65);
    CHECK(reduced_in(record) == 1'165);
    CHECK(reduced_bytes(record, Codec::kFp32) == Counts{2 * 400, 3 * 4'000, 0, 2 * 260});
    CHECK(reduced_bytes(record, Codec::kFp16) == Counts{2 * 200, 3 * 2'000, 0, 2 * 130});
    CHECK(reduced_bytes(record, Codec::kBf16) == Counts{2 * 200, 3 * 2'000, 0, 2 * 130});
    // 100, 1,000 and 65 elements have 2, 16 and 2 blocks.
    CHECK(reduced_bytes(record, Codec::kInt8) == Counts{2 * 102, 3 * 1'016, 0, 2 * 67});
}

TEST_CASE("a plan says how many elements each member reduces", "[wire]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        WireSamples samples{seed};
        wire::Plan plan;
        samples.make(plan);
        std::vector<std::uint64_t> expected(plan.members.size());
        const auto chunks = (plan.elements + plan.chunk_elements - 1) / plan.chunk_elements;
        for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
            const auto range = std::ranges::find_if(plan.ranges, [&](const wire::ChunkRange& r) {
                return r.first_chunk <= chunk && chunk < r.last_chunk;
            });
            REQUIRE(range != plan.ranges.end());
            expected[range->member.value()] += std::min<std::uint64_t>(
                plan.chunk_elements, plan.elements - chunk * plan.chunk_elements);
        }
        REQUIRE(wire::reduced_elements(plan) == expected);
    }
}

TEST_CASE("a record's digest covers every field", "[wire]") {
    CommitRecord one;
    WireSamples{2}.make(one);
    const std::vector<std::function<void(CommitRecord&)>> changes{
        [](CommitRecord& r) { ++r.generation; },
        [](CommitRecord& r) { r.step = r.step.next(); },
        [](CommitRecord& r) { r.previous_record.bytes[31] ^= std::byte{1}; },
        [](CommitRecord& r) { r.previous_state.bytes[31] ^= std::byte{1}; },
        [](CommitRecord& r) { r.members.pop_back(); },
        [](CommitRecord& r) { r.members.back().peer.bytes[31] ^= std::byte{1}; },
        [](CommitRecord& r) { r.members.back().samples = r.members.back().samples.next(); },
        [](CommitRecord& r) { r.members.back().loss_sum += 1; },
        [](CommitRecord& r) { ++r.members.back().reduced; },
        [](CommitRecord& r) { r.average.bytes[31] ^= std::byte{1}; },
        [](CommitRecord& r) { ++r.scalars.learning_rate; },
        [](CommitRecord& r) { ++r.scalars.first_correction; },
        [](CommitRecord& r) { ++r.scalars.second_correction; }};
    std::set<Digest> digests{digest_of(one)};
    for (const auto& change : changes) {
        CommitRecord changed = one;
        change(changed);
        digests.insert(digest_of(changed));
    }
    REQUIRE(digests.size() == changes.size() + 1);
}

// The expected values were computed with hashlib.blake2b over the fields in the order of types.hpp.
TEST_CASE("digests are the same on every machine", "[wire]") {
    RunId run;
    run.bytes.fill(std::byte{9});
    PeerKey key;
    key.bytes.fill(std::byte{1});
    CommitRecord record;
    record.generation = 1;
    record.step = StepIndex{2};
    record.members = {{key, Samples{8}, 55.5, 70'000}};
    record.scalars = {0x3c000000u, 0x3f000000u, 0x3e800000u};
    const Digest digest = digest_of(record);
    const Term term{.number = 3, .coordinator = key};
    const Digest vote{vote_bytes(run, term, digest)};
    PeerKey other;
    other.bytes.fill(std::byte{2});
    const GenerationRecord generation{
        .generation = 1, .step = StepIndex{2}, .state = digest, .voters = {key, other}};
    const StateCertificate state{
        .generation = 1, .step = StepIndex{3}, .record = digest, .state = vote, .votes = {}};
    REQUIRE(digest.hex() == "364d4531ad4e33157ec04cc15bffbde4cb55db3c2cb2b013458c5df581221945");
    REQUIRE(vote.hex() == "581bf031efd82791b23a71dfa5b2f2111be0d194e54fd538603dda997ffcfa96");
    REQUIRE(Digest{state_vote_bytes(run, state)}.hex() ==
            "60fc2b7ac470a18142a01e278b4e7197cbd3721676a277da4f88d18ee7745877");
    REQUIRE(digest_of(run, generation).hex() ==
            "6fdc77012beca19cda8b8dca79a684afde12ebfa8c4e7e43272821c5f090a491");
    REQUIRE(genesis(run, key).record.hex() ==
            "f5a26a0ee6ded77333489751372a14f416ac73f77a09f66a31ecff8f12eb1410");
}

TEST_CASE("a vote is valid for one run, one term and one record only", "[wire]") {
    WireSamples samples{3};
    const auto run = samples.bytes<RunId>();
    const auto record = samples.bytes<Digest>();
    const Term term{.number = 3, .coordinator = samples.bytes<PeerKey>()};
    const Term next{.number = 4, .coordinator = term.coordinator};
    const Term other{.number = 3, .coordinator = samples.bytes<PeerKey>()};
    const std::set<std::array<std::byte, 32>> all{
        vote_bytes(run, term, record), vote_bytes(run, next, record),
        vote_bytes(run, other, record), vote_bytes(samples.bytes<RunId>(), term, record),
        vote_bytes(run, term, samples.bytes<Digest>())};
    REQUIRE(all.size() == 5);
}

TEST_CASE("a vote for a state is valid for one run, place, record and state only", "[wire]") {
    WireSamples samples{3};
    const auto run = samples.bytes<RunId>();
    const StateCertificate one{.generation = 4,
                               .step = StepIndex{7},
                               .record = samples.bytes<Digest>(),
                               .state = samples.bytes<Digest>(),
                               .votes = {}};
    const std::vector<std::function<void(StateCertificate&)>> changes{
        [](StateCertificate& c) { ++c.generation; },
        [](StateCertificate& c) { c.step = c.step.next(); },
        [](StateCertificate& c) {
            c.generation = 7;
            c.step = StepIndex{4};
        },
        [](StateCertificate& c) { c.record.bytes[31] ^= std::byte{1}; },
        [](StateCertificate& c) { c.state.bytes[31] ^= std::byte{1}; },
        [](StateCertificate& c) { std::swap(c.record, c.state); }};
    std::set<std::array<std::byte, 32>> all{state_vote_bytes(run, one),
                                            state_vote_bytes(samples.bytes<RunId>(), one)};
    for (const auto& change : changes) {
        StateCertificate changed = one;
        change(changed);
        all.insert(state_vote_bytes(run, changed));
    }
    REQUIRE(all.size() == changes.size() + 2);
    StateCertificate with_votes = one;
    with_votes.votes.push_back({.voter = samples.bytes<PeerKey>()});
    REQUIRE(state_vote_bytes(run, with_votes) == state_vote_bytes(run, one));
}

TEST_CASE("a signature of one kind of record is not valid for another kind", "[wire]") {
    // All fields are equal: only the preambles of the digests differ.
    const CommitRecord record;
    const std::set<Digest> all{digest_of(record),
                               Digest{vote_bytes({}, {}, {})},
                               Digest{state_vote_bytes({}, {})},
                               digest_of(RunId{}, GenerationRecord{}),
                               Digest{pause_bytes({}, 0)},
                               genesis({}, {}).record,
                               digest_of(formats::Ticket{}),
                               digest_of(formats::Revocations{})};
    REQUIRE(all.size() == 8);
    // A vote for a record is no vote for a state either, whatever their fields are.
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        WireSamples samples{seed};
        const auto run = samples.bytes<RunId>();
        const auto digest = samples.bytes<Digest>();
        const Term term{.number = seed, .coordinator = PeerKey{digest.bytes}};
        const StateCertificate state{.generation = seed,
                                     .step = StepIndex{seed},
                                     .record = digest,
                                     .state = digest,
                                     .votes = {}};
        REQUIRE(vote_bytes(run, term, digest) != state_vote_bytes(run, state));
    }
}

TEST_CASE("a generation's digest covers every field and each voter", "[wire]") {
    SignedGeneration generation;
    WireSamples samples{6};
    samples.make(generation);
    const auto run = samples.bytes<RunId>();
    const std::vector<std::function<void(GenerationRecord&)>> changes{
        [](GenerationRecord& r) { ++r.generation; },
        [](GenerationRecord& r) { r.step = r.step.next(); },
        [](GenerationRecord& r) { r.state.bytes[31] ^= std::byte{1}; },
        [](GenerationRecord& r) { r.voters.pop_back(); },
        [](GenerationRecord& r) { r.voters.back().bytes[31] ^= std::byte{1}; }};
    std::set<Digest> digests{digest_of(run, generation.record),
                             digest_of(samples.bytes<RunId>(), generation.record)};
    for (const auto& change : changes) {
        GenerationRecord changed = generation.record;
        change(changed);
        digests.insert(digest_of(run, changed));
    }
    REQUIRE(digests.size() == changes.size() + 2);
}

TEST_CASE("a pause is signed for one run and one count, by the project", "[wire]") {
    WireSamples samples{7};
    const auto run = samples.bytes<RunId>();
    const KeyPair project = test_key();
    const SignedPause pause = sign_pause(run, 3, project);
    CHECK(is_signed(run, project.public_key(), pause));
    CHECK_FALSE(is_signed(samples.bytes<RunId>(), project.public_key(), pause));
    CHECK_FALSE(is_signed(run, samples.bytes<PeerKey>(), pause));
    SignedPause changed = pause;
    ++changed.count;
    CHECK_FALSE(is_signed(run, project.public_key(), changed));
    changed = pause;
    changed.signature.back() ^= std::byte{1};
    CHECK_FALSE(is_signed(run, project.public_key(), changed));
}

TEST_CASE("the first head of a history has the backbone as its only voter", "[wire]") {
    WireSamples samples{4};
    const auto run = samples.bytes<RunId>();
    const auto backbone = samples.bytes<PeerKey>();
    const Head head = genesis(run, backbone);
    REQUIRE(head.generation == 0);
    REQUIRE(head.step == StepIndex{0});
    REQUIRE(head.voters == std::vector{backbone});
    REQUIRE(head.record != genesis(samples.bytes<RunId>(), backbone).record);
    REQUIRE(head.record != genesis(run, samples.bytes<PeerKey>()).record);
}

TEST_CASE("plans that differ only in the assignment of chunks have the same sum id", "[wire]") {
    wire::Plan plan;
    WireSamples{5}.make(plan);
    plan.members.front().samples = Samples{8};
    const std::uint64_t sum_id = wire::sum_id_of(plan);
    const auto mix_with = [&](auto change) {
        wire::Plan other = plan;
        change(other);
        return wire::sum_id_of(other);
    };
    REQUIRE(sum_id == mix_with([](wire::Plan& p) {
                ++p.attempt;
                p.ranges.clear();
                p.reducers.clear();
                p.members.front().receives = !p.members.front().receives;
                p.members.front().loss_sum = 0;
                p.members.front().exponent = 0;
                p.members.push_back({PeerKey{}, Samples{0}, 0, 7});
            }));
    REQUIRE(sum_id != mix_with([](wire::Plan& p) { ++p.members.front().contribution_id; }));
    REQUIRE(sum_id != mix_with([](wire::Plan& p) { p.members.front().samples = Samples{9}; }));
    REQUIRE(sum_id != mix_with([](wire::Plan& p) { p.members.front().samples = Samples{0}; }));
    REQUIRE(sum_id != mix_with([](wire::Plan& p) { p.members.pop_back(); }));
}

TEST_CASE("only messages that are named by their contents are bulk", "[wire]") {
    WireSamples samples{6};
    std::size_t bulk = 0;
    for (std::size_t i = 0; i < std::variant_size_v<wire::BodyKinds>; ++i) {
        bulk += wire::is_bulk(samples.body(i)) ? 1 : 0;
    }
    REQUIRE(bulk == 3);
    REQUIRE(wire::is_bulk(wire::Chunk{}));
    REQUIRE(wire::is_bulk(wire::LeafRequest{}));
    REQUIRE(wire::is_bulk(wire::Leaf{}));
}
