// Majorities, records that follow a head, and the certificates that prove them.
#include "peer/membership/quorum.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <limits>
#include <span>
#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

PeerKey key(unsigned number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number);
    return key;
}

/// The voters whose bits are set.
std::vector<PeerKey> chosen(const std::vector<PeerKey>& voters, unsigned bits) {
    std::vector<PeerKey> some;
    for (std::size_t i = 0; i < voters.size(); ++i) {
        if ((bits >> i & 1U) != 0) some.push_back(voters[i]);
    }
    return some;
}

std::vector<PeerKey> voters_of(unsigned size) {
    std::vector<PeerKey> voters;
    for (unsigned i = 0; i < size; ++i) voters.push_back(key(2 * i + 2));
    return voters;
}

/// A short history of one run with real keys.
struct History {
    explicit History(std::size_t voters) {
        for (std::size_t i = 0; i < voters; ++i) keys.push_back(KeyPair::generate());
        std::ranges::sort(keys, {}, &KeyPair::public_key);
        head = {.generation = 4, .step = StepIndex{7}, .record = {}, .voters = {}};
        head.record.bytes[0] = std::byte{9};
        for (const KeyPair& pair : keys) head.voters.push_back(pair.public_key());
        record = {.generation = 4,
                  .step = head.step,
                  .previous_record = head.record,
                  .previous_state = {},
                  .members = {},
                  .average = {},
                  .scalars = {}};
        // The members are not the voters: certificates do not depend on the members.
        for (unsigned k = 1; k <= 3; ++k) {
            record.members.push_back(
                {.peer = key(k), .samples = Samples{8}, .loss_sum = 1.5, .reduced = 4});
        }
    }
    std::vector<Vote> votes(unsigned bits, std::span<const std::byte> bytes) const {
        std::vector<Vote> votes;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if ((bits >> i & 1U) == 0) continue;
            votes.push_back({keys[i].public_key(), keys[i].sign(bytes)});
        }
        return votes;
    }
    Certificate certificate(unsigned bits) const {
        const Term term{.number = 3, .coordinator = keys[0].public_key()};
        return {.term = term, .votes = votes(bits, vote_bytes(run, term, digest_of(record)))};
    }
    StateCertificate state(unsigned bits) const {
        StateCertificate state{.generation = head.generation,
                               .step = head.step,
                               .record = head.record,
                               .state = Digest{{std::byte{5}}},
                               .votes = {}};
        state.votes = votes(bits, state_vote_bytes(run, state));
        return state;
    }
    bool is_decided(const Certificate& votes) const {
        return is_certified(run, head, record, votes);
    }
    bool is_proven(const StateCertificate& state) const {
        return is_certified(run, head.voters, state);
    }

    RunId run{blake2b(bytes_of("quorum test")).bytes};
    std::vector<KeyPair> keys;
    Head head;
    CommitRecord record;
};

}  // namespace

TEST_CASE("any two majorities of the voters have a voter in common", "[membership][property]") {
    for (unsigned size = 1; size <= 8; ++size) {
        const auto voters = voters_of(size);
        std::vector<unsigned> majorities;
        for (unsigned bits = 0; bits < 1U << size; ++bits) {
            const bool is = is_majority(voters, chosen(voters, bits));
            REQUIRE(is == (2 * static_cast<unsigned>(std::popcount(bits)) > size));
            if (is) majorities.push_back(bits);
        }
        CHECK(majorities.back() == (1U << size) - 1);
        for (const unsigned a : majorities) {
            for (const unsigned b : majorities) REQUIRE((a & b) != 0);
        }
    }
}

TEST_CASE("no half of the voters is a majority", "[membership]") {
    const auto voters = voters_of(4);
    for (unsigned bits = 0; bits < 16; ++bits) {
        if (std::popcount(bits) == 2) CHECK_FALSE(is_majority(voters, chosen(voters, bits)));
    }
    CHECK(is_majority(voters_of(1), voters_of(1)));
    CHECK_FALSE(is_majority(voters_of(2), voters_of(1)));
}

TEST_CASE("a list with other peers, repetitions or a wrong order is no majority", "[membership]") {
    const auto voters = voters_of(3);
    const auto is = [&](const std::vector<PeerKey>& some) { return is_majority(voters, some); };
    CHECK_FALSE(is_majority({}, {}));
    CHECK_FALSE(is({}));
    CHECK_FALSE(is({voters[0], voters[0]}));
    CHECK_FALSE(is({voters[1], voters[0]}));
    CHECK_FALSE(is({voters[0], key(3)}));
    CHECK_FALSE(is({voters[0], voters[1], voters[2], key(99)}));
    CHECK_FALSE(is({voters[0], voters[1], voters[1]}));
    CHECK_FALSE(is_majority(std::vector{voters[1], voters[0]}, std::vector{voters[0], voters[1]}));
    CHECK_FALSE(is_majority(std::vector{voters[0], voters[0]}, std::vector{voters[0]}));
}

TEST_CASE("a certificate holds for its record, head, run and term only", "[membership]") {
    const History history(5);
    const Certificate good = history.certificate(0b11010);
    CHECK(history.is_decided(good));
    CHECK(history.is_decided(history.certificate(0b11111)));
    CHECK_FALSE(history.is_decided(history.certificate(0b10010)));
    CHECK_FALSE(history.is_decided(Certificate{.term = good.term, .votes = {}}));

    SECTION("another term") {
        Certificate other = good;
        other.term.number += 1;
        CHECK_FALSE(history.is_decided(other));
    }
    SECTION("another coordinator") {
        Certificate other = good;
        other.term.coordinator = history.keys[1].public_key();
        CHECK_FALSE(history.is_decided(other));
    }
    SECTION("another run") {
        History other = history;
        other.run.bytes[0] ^= std::byte{1};
        CHECK_FALSE(other.is_decided(good));
    }
    SECTION("another record") {
        History other = history;
        other.record.members[0].samples += Samples{1};
        CHECK_FALSE(other.is_decided(good));
    }
    SECTION("another head") {
        History other = history;
        other.head.record.bytes[0] ^= std::byte{1};
        CHECK_FALSE(other.is_decided(good));
        // Without the head it is proven, as any record of the generation.
        CHECK(is_certified(other.run, other.head.voters, other.record, good));
    }
    SECTION("other voters") {
        History other = history;
        other.head.voters.erase(other.head.voters.begin() + 1);
        CHECK_FALSE(other.is_decided(good));
    }
    SECTION("one forged vote among good ones") {
        Certificate other = history.certificate(0b11111);
        other.votes[2].signature[5] ^= std::byte{1};
        CHECK_FALSE(history.is_decided(other));
    }
    SECTION("a vote with another voter's key") {
        Certificate other = good;
        other.votes[0].voter = history.keys[0].public_key();
        CHECK_FALSE(history.is_decided(other));
    }
    SECTION("the same vote twice") {
        Certificate other = history.certificate(0b10010);
        other.votes.push_back(other.votes.back());
        CHECK_FALSE(history.is_decided(other));
    }
    SECTION("a member that is no voter") {
        Certificate other = history.certificate(0b10010);
        const KeyPair member = KeyPair::generate();
        other.votes.push_back(
            {member.public_key(),
             member.sign(vote_bytes(history.run, other.term, digest_of(history.record)))});
        std::ranges::sort(other.votes, {}, &Vote::voter);
        CHECK_FALSE(history.is_decided(other));
    }
}

TEST_CASE("a state is proven by a majority that has signed all its fields", "[membership]") {
    const History history(5);
    const StateCertificate good = history.state(0b01011);
    CHECK(history.is_proven(good));
    CHECK_FALSE(history.is_proven(history.state(0b01010)));
    const auto refused = [&](auto change) {
        StateCertificate other = good;
        change(other);
        return !history.is_proven(other);
    };
    CHECK(refused([](auto& state) { state.generation += 1; }));
    CHECK(refused([](auto& state) { state.step = state.step.next(); }));
    CHECK(refused([](auto& state) { state.record.bytes[1] ^= std::byte{1}; }));
    CHECK(refused([](auto& state) { state.state.bytes[1] ^= std::byte{1}; }));
    CHECK(refused([](auto& state) { state.votes.pop_back(); }));
    CHECK(refused([](auto& state) { std::swap(state.votes[0], state.votes[1]); }));
    CHECK(refused([](auto& state) { state.votes[0].signature[9] ^= std::byte{1}; }));
    History other = history;
    other.run.bytes[0] ^= std::byte{1};
    CHECK_FALSE(other.is_proven(good));
    // A vote for a record is no vote for a state.
    StateCertificate mixed = good;
    mixed.votes = history.certificate(0b01011).votes;
    CHECK_FALSE(history.is_proven(mixed));
}

TEST_CASE("only a record that follows the head extends it", "[membership]") {
    const History history(3);
    const auto refused = [&](auto change) {
        CommitRecord other = history.record;
        change(other);
        return !extends(history.head, other);
    };
    CHECK(extends(history.head, history.record));
    CHECK(refused([](auto& record) { record.generation += 1; }));
    CHECK(refused([](auto& record) { record.step = record.step.next(); }));
    CHECK(refused([](auto& record) { record.previous_record.bytes[3] ^= std::byte{1}; }));
    CHECK(refused([](auto& record) { record.members.clear(); }));
    CHECK(refused([](auto& record) { std::swap(record.members[0], record.members[1]); }));
    CHECK(refused([](auto& record) { record.members[1].peer = record.members[0].peer; }));
    CHECK(refused([](auto& record) {
        for (auto& line : record.members) line.samples = Samples{0};
    }));
    CHECK(refused([](auto& record) {
        record.members[0].loss_sum = std::numeric_limits<double>::quiet_NaN();
    }));
    CHECK(refused([](auto& record) { record.members[0].samples = Samples{~std::uint64_t{0}}; }));
    CHECK(refused([](auto& record) { record.members[0].samples = Samples{wire::kMaxSamples}; }));
    CHECK(refused([](auto& record) {
        for (auto& line : record.members) line.reduced = 0;
    }));
    CHECK(refused([](auto& record) { record.members[0].reduced = wire::kMaxElements; }));
    CHECK(refused([](auto& record) { record.members[0].reduced = ~std::uint64_t{0} - 3; }));
}

TEST_CASE("a record leads to the next step of the same generation and voters", "[membership]") {
    const History history(4);
    const Head head = head_after(history.head, history.record);
    CHECK(head == Head{.generation = 4,
                       .step = StepIndex{8},
                       .record = digest_of(history.record),
                       .voters = history.head.voters});
}

TEST_CASE("a generation counts when the project has signed it for this run", "[membership]") {
    const History history(1);
    const KeyPair project = KeyPair::generate();
    SignedGeneration generation{
        .record = {.generation = 5, .step = StepIndex{7}, .state = {}, .voters = {key(1), key(2)}}};
    generation.signature = project.sign(digest_of(history.run, generation.record).bytes);
    CHECK(is_signed(history.run, project.public_key(), generation));
    CHECK_FALSE(is_signed(history.run, history.keys[0].public_key(), generation));
    CHECK_FALSE(is_signed(RunId{}, project.public_key(), generation));
    CHECK(head_after(history.run, generation.record) ==
          Head{.generation = 5,
               .step = StepIndex{7},
               .record = digest_of(history.run, generation.record),
               .voters = {key(1), key(2)}});
    const auto refused = [&](auto change) {
        SignedGeneration other = generation;
        change(other.record);
        return !is_signed(history.run, project.public_key(), other);
    };
    CHECK(refused([](auto& record) { record.generation += 1; }));
    CHECK(refused([](auto& record) { record.step = StepIndex{8}; }));
    CHECK(refused([](auto& record) { record.state.bytes[0] = std::byte{1}; }));
    CHECK(refused([](auto& record) { record.voters.pop_back(); }));
}

}  // namespace dedloc::membership
