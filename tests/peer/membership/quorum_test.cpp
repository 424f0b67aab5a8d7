#include "peer/membership/quorum.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

PeerKey key(unsigned number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number);
    return key;
}

/// The members of `view` whose bits are set.
std::vector<PeerKey> chosen(const std::vector<PeerKey>& view, unsigned bits) {
    std::vector<PeerKey> some;
    for (std::size_t i = 0; i < view.size(); ++i) {
        if ((bits >> i & 1U) != 0) some.push_back(view[i]);
    }
    return some;
}

std::vector<PeerKey> view_of(unsigned size) {
    std::vector<PeerKey> view;
    for (unsigned i = 0; i < size; ++i) view.push_back(key(2 * i + 2));
    return view;
}

/// A history of one run with real keys, as far as these tests need it.
struct History {
    explicit History(std::size_t peers) {
        for (std::size_t i = 0; i < peers; ++i) keys.push_back(KeyPair::generate());
        std::ranges::sort(keys, {}, &KeyPair::public_key);
        backbone = keys.back().public_key();
        head = genesis(run, backbone);
        head.view.clear();
        for (const KeyPair& pair : keys) head.view.push_back(pair.public_key());
        record.step = head.step;
        record.previous_record = head.record;
        for (const PeerKey& peer : head.view) {
            record.members.push_back({.peer = peer, .samples = Samples{8}, .loss_sum = 1.5});
        }
    }
    Certificate certificate(unsigned bits) const {
        Certificate votes{.term = {.number = 3, .coordinator = backbone}, .votes = {}};
        const auto bytes = vote_bytes(run, votes.term, digest_of(record));
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if ((bits >> i & 1U) == 0) continue;
            votes.votes.push_back({keys[i].public_key(), keys[i].sign(bytes)});
        }
        return votes;
    }
    bool is_decided(const Certificate& votes) const {
        return is_certified(run, head, backbone, record, votes);
    }

    RunId run{blake2b(bytes_of("quorum test")).bytes};
    std::vector<KeyPair> keys;
    PeerKey backbone;
    Head head;
    CommitRecord record;
};

}  // namespace

TEST_CASE("any two quorums of a view have a member in common", "[membership][property]") {
    for (unsigned size = 1; size <= 7; ++size) {
        const auto view = view_of(size);
        // The backbone may be any member, or none.
        for (unsigned which = 0; which <= size; ++which) {
            const PeerKey backbone = which < size ? view[which] : key(99);
            std::vector<unsigned> quorums;
            for (unsigned bits = 0; bits < 1U << size; ++bits) {
                if (is_quorum(view, backbone, chosen(view, bits))) quorums.push_back(bits);
            }
            const auto everybody = (1U << size) - 1;
            CHECK(std::ranges::binary_search(quorums, everybody));
            for (const unsigned a : quorums) {
                for (const unsigned b : quorums) REQUIRE((a & b) != 0);
                // Of two halves exactly one is a quorum: nobody waits who need not.
                REQUIRE_FALSE(std::ranges::binary_search(quorums, everybody & ~a));
            }
            CHECK(quorums.size() == 1U << (size - 1));
        }
    }
}

TEST_CASE("half of a view decides with the backbone or else with the lowest key", "[membership]") {
    const auto view = view_of(4);
    const auto half = [&](unsigned a, unsigned b) { return std::vector{view[a], view[b]}; };
    CHECK(is_quorum(view, view[3], half(2, 3)));
    CHECK_FALSE(is_quorum(view, view[3], half(0, 1)));
    CHECK(is_quorum(view, key(99), half(0, 1)));
    CHECK_FALSE(is_quorum(view, key(99), half(2, 3)));
}

TEST_CASE("voters that are strangers, repeated or out of order are no quorum", "[membership]") {
    const auto view = view_of(3);
    CHECK_FALSE(is_quorum({}, view[0], {}));
    CHECK_FALSE(is_quorum(view, view[0], {}));
    CHECK_FALSE(is_quorum(view, view[0], std::vector{view[0], view[0]}));
    CHECK_FALSE(is_quorum(view, view[0], std::vector{view[1], view[0]}));
    CHECK_FALSE(is_quorum(view, view[0], std::vector{view[0], key(3)}));
    CHECK_FALSE(is_quorum(view, view[0], std::vector{view[0], view[1], view[2], key(99)}));
    CHECK_FALSE(is_quorum(std::vector{view[1], view[0]}, view[0], std::vector{view[0], view[1]}));
}

TEST_CASE("a certificate holds for its record, head, run and term only", "[membership]") {
    const History history(5);
    const Certificate good = history.certificate(0b11010);
    CHECK(history.is_decided(good));
    CHECK(history.is_decided(history.certificate(0b11111)));
    CHECK_FALSE(history.is_decided(history.certificate(0b10010)));

    SECTION("another term") {
        Certificate other = good;
        other.term.number += 1;
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
    SECTION("one forged vote among good ones") {
        Certificate other = history.certificate(0b11111);
        other.votes[2].signature[5] ^= std::byte{1};
        CHECK_FALSE(history.is_decided(other));
    }
    SECTION("a vote under another name") {
        Certificate other = good;
        other.votes[0].voter = history.keys[0].public_key();
        CHECK_FALSE(history.is_decided(other));
    }
}

TEST_CASE("only what fits to the head extends it", "[membership]") {
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
        for (auto& line : record.members) line.stays = false;
    }));
    CHECK(refused([](auto& record) {
        record.members[0].loss_sum = std::numeric_limits<double>::quiet_NaN();
    }));
    CHECK(refused([](auto& record) { record.members[0].samples = Samples{~std::uint64_t{0}}; }));
    CHECK(refused([](auto& record) { record.members[0].samples = Samples{wire::kMaxSamples}; }));
}

TEST_CASE("the view after a record is who stays", "[membership]") {
    History history(4);
    history.record.members[1].stays = false;
    const Head head = head_after(history.record);
    CHECK(head.step == history.record.step.next());
    CHECK(head.record == digest_of(history.record));
    REQUIRE(head.view.size() == 3);
    CHECK(head.view[1] == history.record.members[2].peer);
}

TEST_CASE("a generation counts when the project has signed it for this run", "[membership]") {
    const History history(1);
    const KeyPair project = KeyPair::generate();
    SignedGeneration signed_generation{
        .record = {.generation = 2, .step = StepIndex{7}, .state = {}, .backbone = key(1)}};
    signed_generation.signature =
        project.sign(digest_of(history.run, signed_generation.record).bytes);
    CHECK(is_signed(history.run, project.public_key(), signed_generation));
    CHECK_FALSE(is_signed(history.run, history.backbone, signed_generation));
    CHECK_FALSE(is_signed(RunId{}, project.public_key(), signed_generation));
    const Head head = head_after(history.run, signed_generation.record);
    CHECK(head == Head{.generation = 2,
                       .step = StepIndex{7},
                       .record = digest_of(history.run, signed_generation.record),
                       .view = {key(1)}});
    signed_generation.record.step = StepIndex{8};
    CHECK_FALSE(is_signed(history.run, project.public_key(), signed_generation));
}

}  // namespace dedloc::membership
