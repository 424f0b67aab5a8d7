// What a voter may do, alone and against others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/membership/voter.hpp"

using namespace dedloc;
using namespace dedloc::membership;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint kStart{};

KeyPair key_of(std::uint8_t k) {
    std::array<std::byte, 32> seed{};
    seed[0] = static_cast<std::byte>(k);
    return KeyPair::from_seed(seed);
}

PeerConfig config_for(const PeerKey& backbone) {
    PeerConfig config;
    config.backbone = backbone;
    config.project = key_of(99).public_key();
    config.rules.elements = 1;
    config.scalars_of = [](StepIndex) { return UpdateScalars{}; };
    return config;
}

/// A record that follows `head`, told apart by `variant`, with these members.
CommitRecord record_after(const Head& head, std::uint64_t variant,
                          const std::vector<PeerKey>& members) {
    CommitRecord record{.generation = head.generation,
                        .step = head.step,
                        .previous_record = head.record,
                        .previous_state = {},
                        .members = {},
                        .average = {},
                        .scalars = {}};
    for (const PeerKey& peer : members) record.members.push_back({peer, Samples{variant + 1}});
    std::sort(record.members.begin(), record.members.end(),
              [](const CommitLine& a, const CommitLine& b) { return a.peer < b.peer; });
    return record;
}

Term term_of(std::uint64_t number, const KeyPair& key) {
    return {.number = number, .coordinator = key.public_key()};
}

}  // namespace

TEST_CASE("a voter accepts nothing below its promise and one record a term", "[membership]") {
    const KeyPair self = key_of(1);
    const KeyPair other = key_of(2);
    const PeerConfig config = config_for(self.public_key());
    Voter voter{config, self};
    const auto one = record_after(voter.head(), 1, {self.public_key()});
    const auto two = record_after(voter.head(), 2, {self.public_key()});
    REQUIRE(voter.may_vote());
    REQUIRE(voter.promise(term_of(5, other)).granted);
    REQUIRE_FALSE(voter.promise(term_of(4, self)).granted);
    REQUIRE_FALSE(voter.accept(kStart, term_of(4, other), one));
    REQUIRE(voter.accept(kStart, term_of(5, other), one));
    REQUIRE(voter.accept(kStart, term_of(5, other), one));
    REQUIRE_FALSE(voter.accept(kStart, term_of(5, other), two));
    const auto promise = voter.promise(term_of(6, self));
    REQUIRE(promise.granted);
    REQUIRE(promise.accepted == one);
    REQUIRE(promise.accepted_in == term_of(5, other));
    REQUIRE(voter.accept(kStart, term_of(6, self), two));
    voter.check_invariants();
}

TEST_CASE("a voter that has restarted votes only with what it kept", "[membership]") {
    const KeyPair self = key_of(1);
    const KeyPair other = key_of(2);
    PeerConfig config = config_for(self.public_key());
    Voter voter{config, self};
    const auto first = record_after(voter.head(), 1, {self.public_key(), other.public_key()});
    REQUIRE(voter.accept(kStart, term_of(1, self), first));
    voter.advance(first, true);
    REQUIRE(voter.promise(term_of(3, other)).granted);
    const auto kept = voter.take_change();
    REQUIRE(kept);
    REQUIRE_FALSE(voter.take_change());

    config.last_record = first;
    REQUIRE_FALSE(Voter(config, self).may_vote());
    REQUIRE_FALSE(Voter(config, self).promise(term_of(9, self)).granted);
    config.voter = kept;
    Voter back{config, self};
    REQUIRE(back.may_vote());
    REQUIRE(back.head() == voter.head());
    REQUIRE_FALSE(back.promise(term_of(2, self)).granted);
    // Whoever is told of a decision that it was not ready for does not vote in the next round.
    const auto second = record_after(back.head(), 1, {self.public_key(), other.public_key()});
    back.advance(second, false);
    REQUIRE_FALSE(back.may_vote());
    back.check_invariants();
}

TEST_CASE("without a backbone for too long a voter votes no more", "[membership]") {
    const KeyPair backbone = key_of(1);
    const KeyPair self = key_of(2);
    const PeerConfig config = config_for(backbone.public_key());
    Voter voter{config, self};
    REQUIRE_FALSE(voter.may_vote());
    const auto first = record_after(voter.head(), 1, {backbone.public_key(), self.public_key()});
    voter.advance(first, true);
    REQUIRE(voter.may_vote());
    voter.heard_backbone(kStart + 1min);
    const auto second = record_after(voter.head(), 1, {self.public_key()});
    const TimePoint end = kStart + 1min + config.rules.backbone_absence;
    REQUIRE(voter.accept(end, term_of(1, self), second));
    REQUIRE_FALSE(voter.accept(end + 1ns, term_of(1, self), second));
}

TEST_CASE("a promise never to vote again holds against every term", "[membership]") {
    const KeyPair self = key_of(1);
    const KeyPair other = key_of(2);
    const PeerConfig config = config_for(self.public_key());
    Voter voter{config, self};
    REQUIRE_FALSE(voter.promise({.number = kLastTerm, .coordinator = other.public_key()}).granted);
    REQUIRE(voter.promise({.number = kLastTerm, .coordinator = self.public_key()}).granted);
    // It says so, or others would wait for its vote.
    REQUIRE_FALSE(voter.may_vote());
    const auto record = record_after(voter.head(), 1, {self.public_key()});
    REQUIRE_FALSE(voter.promise(term_of(1'000, self)).granted);
    REQUIRE_FALSE(voter.accept(kStart, term_of(1'000, self), record));
    REQUIRE_FALSE(
        voter.accept(kStart, {.number = kLastTerm, .coordinator = self.public_key()}, record));

    const GenerationRecord next{
        .generation = 1, .step = {}, .state = {}, .backbone = self.public_key()};
    const Digest digest = digest_of(config.run, next);
    REQUIRE_FALSE(voter.begin({.record = next, .signature = other.sign(digest.bytes)}));
    const SignedGeneration generation{.record = next, .signature = key_of(99).sign(digest.bytes)};
    REQUIRE(voter.begin(generation));
    REQUIRE_FALSE(voter.begin(generation));
    REQUIRE(voter.may_vote());
    REQUIRE(voter.promise(term_of(1, self)).granted);
    voter.check_invariants();
}

TEST_CASE("no term far ahead can use the numbers up", "[membership]") {
    const KeyPair self = key_of(1);
    const PeerConfig config = config_for(self.public_key());
    Voter voter{config, self};
    REQUIRE_FALSE(voter.promise(term_of(std::uint64_t{1} << 40, self)).granted);
    REQUIRE(voter.promise(term_of(std::uint64_t{1} << 20, self)).granted);
}

// Candidates and voters in memory; messages are lost and reordered; candidates stop half-way.
TEST_CASE("whatever is lost, at most one record of a step is decided", "[membership][property]") {
    std::uint64_t decisions = 0;
    for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
        INFO("seed " << seed);
        Random random{seed};
        const std::size_t size = 1 + random.below(6);
        std::vector<KeyPair> keys;
        std::vector<PeerKey> view;
        for (std::size_t k = 0; k < size; ++k) {
            keys.push_back(key_of(static_cast<std::uint8_t>(k + 1)));
            view.push_back(keys.back().public_key());
        }
        const PeerConfig config = config_for(view[random.below(size)]);
        std::vector<Voter> voters;
        for (const KeyPair& key : keys) {
            voters.emplace_back(config, key);
            voters.back().advance(record_after(voters.back().head(), 0, view), true);
            REQUIRE(voters.back().may_vote());
        }
        const Head head = voters.front().head();
        std::optional<Digest> decided;
        std::map<Term, CommitRecord> proposals;
        for (std::uint64_t round = 0; round < 12; ++round) {
            const KeyPair& candidate = keys[random.below(size)];
            const Term term = term_of(1 + random.below(6), candidate);
            std::vector<PeerKey> promised;
            std::optional<CommitRecord> inherited;
            Term inherited_in;
            for (std::size_t k = 0; k < size; ++k) {
                if (random.below(4) == 0) continue;
                const auto promise = voters[k].promise(term);
                if (!promise.granted) continue;
                promised.push_back(view[k]);
                if (promise.accepted && (!inherited || promise.accepted_in > inherited_in)) {
                    inherited = promise.accepted;
                    inherited_in = promise.accepted_in;
                }
            }
            std::sort(promised.begin(), promised.end());
            if (!is_quorum(head.view, config.backbone, promised)) continue;
            // A coordinator proposes one record a term.
            const auto own = record_after(head, 10 + round, view);
            const auto record =
                proposals.try_emplace(term, inherited ? *inherited : own).first->second;
            std::map<PeerKey, Signature> votes;
            for (std::size_t k = 0; k < size; ++k) {
                if (random.below(3) == 0) continue;
                const auto vote = voters[k].accept(kStart, term, record);
                if (vote) votes.emplace(view[k], *vote);
            }
            Certificate certificate{.term = term, .votes = {}};
            for (const auto& [voter, signature] : votes) {
                certificate.votes.push_back({voter, signature});
            }
            if (!voters.front().is_decided(record, certificate)) continue;
            ++decisions;
            const Digest digest = digest_of(record);
            REQUIRE(decided.value_or(digest) == digest);
            decided = digest;
        }
    }
    REQUIRE(decisions > 1'000);
}
