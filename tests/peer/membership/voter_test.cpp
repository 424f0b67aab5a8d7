// Voter: rules of promises and votes, and recovery after a restart.
#include "peer/membership/voter.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "peer/membership/quorum.hpp"
#include "peer/wire/limits.hpp"
#include "tests/peer/membership/voter_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

TEST_CASE("a voter accepts nothing below its promise and one record in each term", "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    const auto one = record_after(voter.head(), 1);
    const auto two = record_after(voter.head(), 2);
    REQUIRE(voter.may_vote());
    REQUIRE(voter.promise(voter_term(5, keys[1])).granted);
    const auto refusal = voter.promise(voter_term(4, keys[0]));
    REQUIRE_FALSE(refusal.granted);
    REQUIRE(refusal.term == voter_term(4, keys[0]));
    REQUIRE(refusal.promised == voter_term(5, keys[1]));
    REQUIRE_FALSE(voter.accept(voter_term(4, keys[1]), one));
    const auto signature = voter.accept(voter_term(5, keys[1]), one);
    REQUIRE(signature);
    REQUIRE(verify(keys[0].public_key(),
                   vote_bytes(config.run, voter_term(5, keys[1]), digest_of(one)), *signature));
    REQUIRE(voter.accept(voter_term(5, keys[1]), one) == signature);
    REQUIRE_FALSE(voter.accept(voter_term(5, keys[1]), two));
    const auto promise = voter.promise(voter_term(6, keys[0]));
    REQUIRE(promise.granted);
    REQUIRE(promise.accepted == one);
    REQUIRE(promise.accepted_in == voter_term(5, keys[1]));
    REQUIRE(voter.accept(voter_term(6, keys[0]), two));
    voter.check_invariants();
}

TEST_CASE("a refused promise does not carry the accepted record", "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    const auto record = record_after(voter.head(), 1);
    REQUIRE(voter.accept(voter_term(5, keys[1]), record));
    const auto refusal = voter.promise(voter_term(4, keys[2]));
    REQUIRE_FALSE(refusal.granted);
    REQUIRE_FALSE(refusal.accepted);
}

TEST_CASE("a promise holds for all later steps of a term", "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    REQUIRE(voter.promise(voter_term(7, keys[1])).granted);
    for (std::uint64_t step = 0; step < 3; ++step) {
        const auto record = record_after(voter.head(), step);
        REQUIRE_FALSE(voter.accept(voter_term(6, keys[2]), record));
        REQUIRE_FALSE(voter.promise(voter_term(6, keys[2])).granted);
        REQUIRE(voter.accept(voter_term(7, keys[1]), record));
        voter.append(record);
        REQUIRE_FALSE(voter.promise(voter_term(7, keys[1])).accepted);
        voter.check_invariants();
    }
}

TEST_CASE("votes are about the round of the head", "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    const auto first_record = record_after(voter.head(), 1);
    const auto next = record_after(head_after(voter.head(), first_record), 1);
    REQUIRE_FALSE(voter.accept(voter_term(1, keys[0]), next));
    voter.append(first_record);
    REQUIRE_FALSE(voter.accept(voter_term(1, keys[0]), first_record));
    REQUIRE(voter.accept(voter_term(1, keys[0]), next));
    auto foreign = record_after(voter.head(), 3);
    foreign.previous_record.bytes[0] ^= std::byte{1};
    REQUIRE_FALSE(voter.accept(voter_term(2, keys[0]), foreign));
}

namespace {

/// A voter that has moved one step, promised and accepted, and then stops.
struct Stopped {
    Stopped() : config(config_for(keys)) {
        Voter voter{config, keys[0]};
        decided = record_after(voter.head(), 1);
        voter.append(decided);
        head = voter.head();
        record = record_after(head, 2);
        REQUIRE(voter.promise(voter_term(3, keys[1])).granted);
        REQUIRE(voter.accept(voter_term(3, keys[1]), record));
        const auto kept = voter.take_change();
        REQUIRE(kept);
        REQUIRE_FALSE(voter.take_change());
        config.voter = kept;
        config.last_decision = Decision{.record = decided, .certificate = {}};
    }
    const std::vector<KeyPair> keys = known_voters(3);
    PeerConfig config;
    CommitRecord decided;
    Head head;
    CommitRecord record;
};

}  // namespace

TEST_CASE("a restarted voter recovers its promises and votes", "[membership]") {
    Stopped stopped;
    auto& [keys, config, decided, head, record] = stopped;
    SECTION("the memory is of this generation and step: it keeps its vote") {
        Voter back{config, keys[0]};
        REQUIRE(back.may_vote());
        REQUIRE(back.head() == head);
        REQUIRE_FALSE(back.promise(voter_term(2, keys[2])).granted);
        REQUIRE_FALSE(back.accept(voter_term(3, keys[1]), record_after(head, 3)));
        REQUIRE(back.accept(voter_term(3, keys[1]), record));
        REQUIRE(back.promise(voter_term(4, keys[2])).accepted == record);
        back.check_invariants();
    }
    SECTION("the ledger is ahead: the vote is settled, the promise holds") {
        config.last_decision = Decision{.record = record, .certificate = {}};
        Voter back{config, keys[0]};
        REQUIRE(back.head().step == StepIndex{6});
        REQUIRE(back.may_vote());
        REQUIRE_FALSE(back.promise(voter_term(2, keys[2])).granted);
        const auto promise = back.promise(voter_term(4, keys[2]));
        REQUIRE(promise.granted);
        REQUIRE_FALSE(promise.accepted);
        REQUIRE(back.accept(voter_term(4, keys[2]), record_after(back.head(), 5)));
        back.check_invariants();
    }
    SECTION("the votes are ahead of the ledger: it has lost records and does not vote") {
        config.last_decision.reset();
        Voter back{config, keys[0]};
        REQUIRE(back.head().step == StepIndex{4});
        REQUIRE_FALSE(back.may_vote());
        REQUIRE_FALSE(back.promise(voter_term(9, keys[0])).granted);
        REQUIRE_FALSE(back.accept(voter_term(9, keys[0]), record_after(back.head(), 1)));
        REQUIRE_FALSE(back.vote_for_state({}));
        const auto kept = back.take_change();
        REQUIRE(kept);
        REQUIRE_FALSE(kept->may_vote);
        // Nor after fetching them: it does not know its later votes.
        back.append(decided);
        back.append(record);
        REQUIRE_FALSE(back.may_vote());
        config.voter = kept;
        config.last_decision = Decision{.record = record, .certificate = {}};
        REQUIRE_FALSE(Voter(config, keys[0]).may_vote());
        back.check_invariants();
    }
}

TEST_CASE("a restarted voter without a memory of this generation", "[membership]") {
    Stopped stopped;
    auto& [keys, config, decided, head, record] = stopped;
    SECTION("no memory: it never votes, and has nothing to remember") {
        config.voter.reset();
        Voter back{config, keys[0]};
        REQUIRE_FALSE(back.may_vote());
        REQUIRE_FALSE(back.promise(voter_term(9, keys[0])).granted);
        REQUIRE(back.begin(generation_of(2, StepIndex{5}, keys)));
        REQUIRE_FALSE(back.may_vote());
        REQUIRE_FALSE(back.take_change());
    }
    SECTION("a memory of an older generation: it is appointed now and free of old promises") {
        config.generation = generation_of(2, StepIndex{5}, keys);
        Voter back{config, keys[0]};
        REQUIRE(back.head().step == StepIndex{5});  // the decision belongs to the former generation
        REQUIRE(back.may_vote());
        const auto promise = back.promise(voter_term(1, keys[2]));
        REQUIRE(promise.granted);
        REQUIRE_FALSE(promise.accepted);
        REQUIRE(Voter(config, keys[1]).may_vote());
        REQUIRE_FALSE(Voter(config, key_of(60)).may_vote());
    }
    SECTION("a memory of a newer generation than the ledger's: it does not vote") {
        config.voter->generation = 2;
        config.voter->step = StepIndex{4};
        REQUIRE_FALSE(Voter(config, keys[0]).may_vote());
    }
    SECTION("a memory that may not vote stays so") {
        config.voter->may_vote = false;
        REQUIRE_FALSE(Voter(config, keys[0]).may_vote());
    }
    SECTION("a peer that is no longer a voter may not vote") {
        config.generation = generation_of(1, StepIndex{4}, {keys[1], keys[2]});
        REQUIRE_FALSE(Voter(config, keys[0]).may_vote());
    }
}

TEST_CASE("the run's own backbone is the first voter, with the first memory only", "[membership]") {
    PeerConfig config = config_for({});
    config.generation.reset();
    const KeyPair backbone = key_of(98);
    config.voter = first_memory(0, true);
    REQUIRE(Voter(config, backbone).may_vote());
    REQUIRE(Voter(config, backbone).head().step == StepIndex{0});
    REQUIRE_FALSE(Voter(config, key_of(1)).may_vote());
    // A key that is appointed later, and a voter that has lost its memory.
    config.voter = first_memory(0, false);
    REQUIRE_FALSE(Voter(config, backbone).may_vote());
    config.voter.reset();
    REQUIRE_FALSE(Voter(config, backbone).may_vote());
}

TEST_CASE("a voter restored from a backup votes in no generation that it may have voted in",
          "[membership]") {
    const auto keys = known_voters(3);
    PeerConfig config = config_for(keys);
    config.voter = first_memory(9, false);
    Voter voter{config, keys[0]};
    REQUIRE_FALSE(voter.may_vote());
    // The others have gone on since the backup.
    REQUIRE(voter.begin(generation_of(2, StepIndex{5}, keys)));
    REQUIRE_FALSE(voter.may_vote());
    voter.append(record_after(voter.head(), 1));
    REQUIRE_FALSE(voter.accept(voter_term(1, keys[0]), record_after(voter.head(), 1)));
    REQUIRE_FALSE(voter.take_change());  // a lower number on the disk would let it vote in 3
    SECTION("nor after it has been restarted") {
        config.generation = generation_of(2, StepIndex{5}, keys);
        Voter back{config, keys[0]};
        REQUIRE_FALSE(back.may_vote());
        REQUIRE(back.begin(generation_of(3, StepIndex{6}, keys)));
        REQUIRE_FALSE(back.may_vote());
    }
    SECTION("but in the one that the project signs after the restore") {
        REQUIRE(voter.begin(generation_of(10, StepIndex{6}, keys)));
        REQUIRE(voter.may_vote());
        REQUIRE(voter.take_change()->generation == 10);
    }
    voter.check_invariants();
}

TEST_CASE("a voter that stops voting waits until the project appoints voters again",
          "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    voter.stop_voting();
    REQUIRE_FALSE(voter.may_vote());
    const auto kept = voter.take_change();
    REQUIRE(kept);
    REQUIRE_FALSE(kept->may_vote);
    voter.stop_voting();
    REQUIRE_FALSE(voter.take_change());
    REQUIRE_FALSE(voter.promise(voter_term(9, keys[0])).granted);
    REQUIRE_FALSE(voter.accept(voter_term(9, keys[0]), record_after(voter.head(), 1)));
    REQUIRE_FALSE(voter.vote_for_state({}));
    voter.append(record_after(voter.head(), 1));
    REQUIRE_FALSE(voter.may_vote());

    REQUIRE_FALSE(voter.begin(generation_of(2, StepIndex{5}, keys, keys[0])));  // not the project's
    REQUIRE_FALSE(voter.begin(generation_of(1, StepIndex{5}, keys)));           // not newer
    const SignedGeneration next = generation_of(2, StepIndex{5}, keys);
    REQUIRE(voter.begin(next));
    REQUIRE_FALSE(voter.begin(next));
    REQUIRE(voter.may_vote());
    REQUIRE(voter.generation() == next);
    REQUIRE(voter.head().step == StepIndex{5});
    REQUIRE(voter.promise(voter_term(1, keys[1])).granted);
    REQUIRE(voter.take_change()->generation == 2);
    voter.check_invariants();
    // This generation does not appoint it.
    REQUIRE(voter.begin(generation_of(3, StepIndex{5}, {keys[1], keys[2]})));
    REQUIRE_FALSE(voter.may_vote());
    REQUIRE_FALSE(voter.take_change()->may_vote);
    voter.check_invariants();
}

TEST_CASE("a record is decided after the head and before it, by this generation's voters",
          "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    const Term term = voter_term(2, keys[1]);
    const auto now = record_after(voter.head(), 1);
    const auto next = record_after(head_after(voter.head(), now), 1);
    CHECK(voter.is_decided(now, certify(now, term, first(keys, 2))));
    CHECK_FALSE(voter.is_decided(now, certify(now, term, first(keys, 1))));
    CHECK_FALSE(voter.is_decided(now, certify(next, term, keys)));
    CHECK_FALSE(
        voter.is_decided(next, certify(next, term, keys)));  // the record before it is missing
    auto forged = certify(now, term, keys);
    forged.votes[1].signature[0] ^= std::byte{1};
    CHECK_FALSE(voter.is_decided(now, forged));
    voter.append(now);
    CHECK(voter.is_decided(now, certify(now, term, first(keys, 2))));  // a record before the head
    CHECK_FALSE(voter.is_decided(now, certify(now, term, first(keys, 1))));
    CHECK(voter.is_decided(next, certify(next, term, keys)));
    REQUIRE(voter.begin(generation_of(2, StepIndex{6}, keys)));
    CHECK_FALSE(voter.is_decided(now, certify(now, term, keys)));
    CHECK_FALSE(voter.is_decided(next, certify(next, term, keys)));
}

TEST_CASE("a state is proven by a majority, or as the first one of the generation",
          "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    Voter voter{config, key_of(60)};  // a member that does not vote
    const Head ahead{.generation = 1,
                     .step = StepIndex{40},
                     .record = Digest{{std::byte{3}}},
                     .voters = voter.head().voters};
    const Digest state{{std::byte{8}}};
    CHECK(voter.is_proven(state_certificate(ahead, state, first(keys, 2))));
    CHECK_FALSE(voter.is_proven(state_certificate(ahead, state, first(keys, 1))));
    CHECK_FALSE(voter.is_proven(state_certificate(ahead, state, {key_of(60), keys[0]})));
    auto forged = state_certificate(ahead, state, keys);
    forged.state.bytes[0] = std::byte{9};
    CHECK_FALSE(voter.is_proven(forged));
    auto other = ahead;
    other.generation = 2;
    CHECK_FALSE(voter.is_proven(state_certificate(other, state, keys)));
    other.generation = 0;
    CHECK_FALSE(voter.is_proven(state_certificate(other, state, keys)));

    const GenerationRecord& first_record = config.generation->record;
    const StateCertificate beginning{.generation = 1,
                                     .step = first_record.step,
                                     .record = digest_of(config.run, first_record),
                                     .state = first_record.state,
                                     .votes = {}};
    CHECK(voter.is_proven(beginning));
    const auto refused = [&](auto change) {
        StateCertificate changed = beginning;
        change(changed);
        return !voter.is_proven(changed);
    };
    CHECK(refused([](auto& s) { s.step = s.step.next(); }));
    CHECK(refused([](auto& s) { s.state.bytes[4] ^= std::byte{1}; }));
    CHECK(refused([](auto& s) { s.record.bytes[4] ^= std::byte{1}; }));
    CHECK(refused([](auto& s) { s.generation = 0; }));

    voter.adopt(state_certificate(ahead, state, first(keys, 2)));
    CHECK(voter.head() == ahead);
    voter.check_invariants();
}

TEST_CASE("not even all voters move the head beyond the run's last step", "[membership]") {
    const auto keys = known_voters(3);
    PeerConfig config = config_for(keys);
    config.rules.last_step = StepIndex{40};
    Voter voter{config, keys[0]};
    const Term term = voter_term(2, keys[1]);
    const Digest state{{std::byte{8}}};
    Head ahead = voter.head();
    for (const std::uint64_t step : {std::uint64_t{41}, wire::kMaxStep}) {
        ahead.step = StepIndex{step};
        CHECK_FALSE(voter.is_proven(state_certificate(ahead, state, keys)));
    }
    ahead.step = StepIndex{40};
    const auto last = state_certificate(ahead, state, keys);
    REQUIRE(voter.is_proven(last));
    voter.adopt(last);
    const auto record = record_after(voter.head(), 1);
    CHECK_FALSE(voter.extends_head(record));
    CHECK_FALSE(voter.is_decided(record, certify(record, term, keys)));
    CHECK_FALSE(voter.accept(term, record));
}

TEST_CASE("at step 0 only the state that the run file names is proven", "[membership]") {
    PeerConfig config;
    config.rules.last_step = StepIndex{100};
    config.project = key_of(99).public_key();
    const KeyPair backbone = key_of(98);
    config.backbone = backbone.public_key();
    config.rules.elements = 1;
    const Digest named{{std::byte{8}}};
    const Head start = genesis(config.run, config.backbone);
    const auto proves = [&](const Head& head, const Digest& state) {
        return Voter(config, key_of(60)).is_proven(state_certificate(head, state, {backbone}));
    };
    const Digest other{{std::byte{9}}};
    CHECK(proves(start, other));
    config.initial_state = named;
    CHECK(proves(start, named));
    CHECK_FALSE(proves(start, other));
    Head later = start;
    later.step = StepIndex{1};
    CHECK(proves(later, other));
}

TEST_CASE("a vote for a state names the head's step and record", "[membership]") {
    const auto keys = known_voters(3);
    const PeerConfig config = config_for(keys);
    const Digest state{{std::byte{8}}};
    StateCertificate certificate;
    for (std::size_t k = 0; k < 2; ++k) {
        Voter voter{config, keys[k]};
        const auto vote = voter.vote_for_state(state);
        REQUIRE(vote);
        certificate.generation = 1;
        certificate.step = voter.head().step;
        certificate.record = voter.head().record;
        certificate.state = state;
        certificate.votes.push_back(*vote);
    }
    CHECK(Voter(config, key_of(60)).is_proven(certificate));
    CHECK_FALSE(Voter(config, key_of(60)).vote_for_state(state));
}

TEST_CASE("a voter votes for one state of each head, also after a restart", "[membership]") {
    const auto keys = known_voters(3);
    PeerConfig config = config_for(keys);
    const Digest state{{std::byte{8}}};
    const Digest other{{std::byte{9}}};
    Voter voter{config, keys[0]};
    const auto record = record_after(voter.head(), 1);
    voter.append(record);
    CHECK_FALSE(voter.voted_state());
    CHECK_FALSE(voter.take_change());  // the decision is in the ledger
    REQUIRE(voter.vote_for_state(state));
    CHECK(voter.voted_state() == state);
    const auto kept = voter.take_change();
    REQUIRE(kept);
    REQUIRE(voter.vote_for_state(state));
    CHECK_FALSE(voter.take_change());
    CHECK_FALSE(voter.vote_for_state(other));

    config.voter = kept;
    config.last_decision = Decision{.record = record, .certificate = {}};
    Voter back{config, keys[0]};
    CHECK(back.voted_state() == state);
    CHECK_FALSE(back.vote_for_state(other));
    REQUIRE(back.vote_for_state(state));
    back.append(record_after(back.head(), 1));
    CHECK_FALSE(back.voted_state());
    REQUIRE(back.vote_for_state(other));

    // The ledger is ahead of the votes: the vote was for the former head.
    config.last_decision = Decision{.record = record_after(voter.head(), 1), .certificate = {}};
    CHECK_FALSE(Voter(config, keys[0]).voted_state());
}
