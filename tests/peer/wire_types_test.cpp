#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <vector>

#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"
#include "tests/peer/wire_samples.hpp"

using namespace dedloc;
using namespace dedloc::tests;

TEST_CASE("the view after a commit is who stays", "[wire]") {
    CommitRecord record;
    WireSamples{1}.make(record);
    std::vector<PeerKey> expected;
    for (std::size_t i = 0; i < record.members.size(); ++i) {
        record.members[i].stays = i % 2 == 0;
        if (i % 2 == 0) expected.push_back(record.members[i].peer);
    }
    REQUIRE(view_after(record) == expected);
}

TEST_CASE("a member's line is found, and nobody else's", "[wire]") {
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

TEST_CASE("of many who stay, those with the lowest keys decide", "[wire]") {
    WireSamples samples{2};
    CommitRecord record;
    for (std::size_t i = 0; i < wire::kMaxVoters + 10; ++i) {
        record.members.push_back({samples.bytes<PeerKey>(), Samples{0}, 0, i % 7 != 0});
    }
    std::ranges::sort(record.members, {}, &CommitLine::peer);
    std::vector<PeerKey> staying;
    for (const CommitLine& line : record.members) {
        if (line.stays) staying.push_back(line.peer);
    }
    REQUIRE(
        view_after(record) ==
        std::vector(staying.begin(), staying.begin() + std::min(staying.size(), wire::kMaxVoters)));
    for (CommitLine& line : record.members) line.stays = true;
    const auto view = view_after(record);
    REQUIRE(view.size() == wire::kMaxVoters);
    REQUIRE(view.back() == record.members[wire::kMaxVoters - 1].peer);
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
        [](CommitRecord& r) { r.members.back().stays = !r.members.back().stays; },
        [](CommitRecord& r) { r.average.bytes[31] ^= std::byte{1}; },
        [](CommitRecord& r) { ++r.scalars.learning_rate; },
        [](CommitRecord& r) { ++r.scalars.bias_correction; }};
    std::set<Digest> digests{digest_of(one)};
    for (const auto& change : changes) {
        CommitRecord changed = one;
        change(changed);
        digests.insert(digest_of(changed));
    }
    REQUIRE(digests.size() == changes.size() + 1);
}

// The expected values are of hashlib.blake2b over the fields as types.hpp orders them.
TEST_CASE("digests are the same on every machine", "[wire]") {
    RunId run;
    run.bytes.fill(std::byte{9});
    PeerKey key;
    key.bytes.fill(std::byte{1});
    CommitRecord record;
    record.generation = 1;
    record.step = StepIndex{2};
    record.members = {{key, Samples{8}, 55.5, true}};
    record.scalars = {0x3c000000u, 0x3f800000u};
    const Digest digest = digest_of(record);
    const Term term{.number = 3, .coordinator = key};
    const Digest vote{vote_bytes(run, term, digest)};
    const GenerationRecord generation{
        .generation = 1, .step = StepIndex{2}, .state = digest, .backbone = key};
    REQUIRE(digest.hex() == "d9ff2e9b2179ba85609fd8bc70c5f8130b6d9a03d187cd67278d7f55471e3f43");
    REQUIRE(vote.hex() == "0a0aaa1ea872e5879a4959632a46c04d3b889d230e27f668206513af23c6340d");
    REQUIRE(digest_of(run, generation).hex() ==
            "585fb8fd77656ff718c86defb32b4e8e7b18d17e36d09a7bab91feba4d886dcd");
    REQUIRE(genesis(run, key).record.hex() ==
            "f5a26a0ee6ded77333489751372a14f416ac73f77a09f66a31ecff8f12eb1410");
}

TEST_CASE("a vote is for one run, one term and one record", "[wire]") {
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

TEST_CASE("a history begins with the backbone alone", "[wire]") {
    WireSamples samples{4};
    const auto run = samples.bytes<RunId>();
    const auto backbone = samples.bytes<PeerKey>();
    const Head head = genesis(run, backbone);
    REQUIRE(head.generation == 0);
    REQUIRE(head.step == StepIndex{0});
    REQUIRE(head.view == std::vector{backbone});
    REQUIRE(head.record != genesis(samples.bytes<RunId>(), backbone).record);
    REQUIRE(head.record != genesis(run, samples.bytes<PeerKey>()).record);
}

TEST_CASE("plans that only move chunks have the same mix", "[wire]") {
    wire::Plan plan;
    WireSamples{5}.make(plan);
    plan.members.front().samples = Samples{8};
    const std::uint64_t mix = wire::mix_of(plan);
    const auto mix_with = [&](auto change) {
        wire::Plan other = plan;
        change(other);
        return wire::mix_of(other);
    };
    REQUIRE(mix == mix_with([](wire::Plan& p) {
                ++p.attempt;
                p.ranges.clear();
                p.reducers.clear();
                p.members.front().receives = !p.members.front().receives;
                p.members.front().loss_sum = 0;
                p.members.push_back({PeerKey{}, Samples{0}, 0, 7});
            }));
    REQUIRE(mix != mix_with([](wire::Plan& p) { ++p.members.front().freeze; }));
    REQUIRE(mix != mix_with([](wire::Plan& p) { p.members.front().samples = Samples{9}; }));
    REQUIRE(mix != mix_with([](wire::Plan& p) { p.members.front().samples = Samples{0}; }));
    REQUIRE(mix != mix_with([](wire::Plan& p) { p.members.pop_back(); }));
}

TEST_CASE("only what is named by its content is bulk", "[wire]") {
    WireSamples samples{6};
    std::size_t bulk = 0;
    for (std::size_t i = 0; i < std::variant_size_v<wire::Body>; ++i) {
        bulk += wire::is_bulk(samples.body(i)) ? 1 : 0;
    }
    REQUIRE(bulk == 3);
    REQUIRE(wire::is_bulk(wire::Chunk{}));
    REQUIRE(wire::is_bulk(wire::LeafRequest{}));
    REQUIRE(wire::is_bulk(wire::Leaf{}));
}
