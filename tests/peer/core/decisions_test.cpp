// What one peer decides by certificates, votes and generations. "Claim N" names the claims of "Why
// no swarm splits" in peer/README.md: each test fails if the peer breaks that claim.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "peer/state/model_state.hpp"
#include "tests/peer/core/beside_backbone.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using namespace std::chrono_literals;

namespace {

const KeyPair kMember = test_key(9);

std::vector<KeyPair> sorted(std::vector<KeyPair> keys) {
    std::ranges::sort(keys, {}, &KeyPair::public_key);
    return keys;
}

/// A peer in a generation of three voters; it holds the generation's state.
struct AmongThree {
    AmongThree(Role role, const std::vector<KeyPair>& voters)
        : generation(history.appoint(voters, kProject)), peer(config(role), kSelf) {
        peer.tell(event::StateReached{.step = {}, .digest = history.state()});
        other = &peer.introduce(kOther, kBackboneEnd);
        third = &peer.introduce(kThird, kBackboneEnd);
        member = &peer.introduce(kMember);
        hear(*member, history.heartbeat());
        peer.forget();
    }
    /// The peer is a voter with kOther and kThird.
    AmongThree() : AmongThree(Role::kBackbone, {kSelf, kOther, kThird}) {}

    PeerConfig config(Role role) const {
        PeerConfig config = config_of(role);
        config.generation = generation;
        if (role == Role::kBackbone) config.voter = first_memory(0, false);
        return config;
    }
    void hear(OtherEnd& end, wire::Body body) {
        peer.hear(end, history.head().step, std::move(body), generation.record.generation);
    }
    wire::Heartbeat voter_heartbeat() const {
        wire::Heartbeat heartbeat = history.heartbeat();
        heartbeat.may_vote = true;
        return heartbeat;
    }
    /// The two other voters promise it their votes.
    void lead() {
        for (OtherEnd* end : {other, third}) hear(*end, voter_heartbeat());
        peer.pass(5s);
        const auto elects = peer.said_to<wire::Elect>(*other);
        REQUIRE_FALSE(elects.empty());
        const Term term = elects.back().term;
        hear(*other, wire::Promise{.term = term, .granted = true, .promised = term});
        REQUIRE(peer.heartbeat().term == term);
        peer.forget();
    }
    /// Decides a round elsewhere, and tells it; the state that follows is not here yet.
    void decide() {
        const Decision decision = history.decide();
        peer.hear(*other, decision.record.step, wire::full_commit(decision),
                  generation.record.generation);
        REQUIRE(peer.acted<action::Committed>().size() == 1);
        peer.forget();
    }

    WrittenHistory history{kBackbone};
    SignedGeneration generation;
    HandFed peer;
    OtherEnd* other = nullptr;
    OtherEnd* third = nullptr;
    OtherEnd* member = nullptr;
};

/// The place of the first action that `is_it` accepts.
template <class IsIt>
std::size_t place_of(const Actions& actions, const IsIt& is_it) {
    const auto found = std::ranges::find_if(actions, is_it);
    REQUIRE(found != actions.end());
    return static_cast<std::size_t>(found - actions.begin());
}

template <class Body>
bool says(const Action& action) {
    const auto* send = std::get_if<action::Send>(&action);
    if (send == nullptr) return false;
    const auto message = wire::decode_unverified(*send->frame.whole());
    return message && std::holds_alternative<Body>(message->body);
}

bool is_stored(const Action& action) {
    return std::holds_alternative<action::Voted>(action);
}

}  // namespace

// --- votes and commits -------------------------------------------------------

TEST_CASE("claim 1: a commit counts with the votes of more than half of the voters", "[core]") {
    const Role role = GENERATE(Role::kTrainer, Role::kAggregator);
    AmongThree three{role, {kOther, kThird, kBackbone}};
    const Decision decision = three.history.decide();
    const auto counts = [&](const std::vector<Vote>& votes) {
        three.peer.forget();
        Decision told = decision;
        told.certificate.votes = votes;
        three.peer.hear(*three.member, decision.record.step, wire::full_commit(told), 1);
        return !three.peer.acted<action::Committed>().empty();
    };
    const std::vector<Vote>& votes = decision.certificate.votes;
    REQUIRE(votes.size() == 3);
    const auto bytes = vote_bytes({}, decision.certificate.term, digest_of(decision.record));
    std::vector<Vote> foreign{votes[0], {kMember.public_key(), kMember.sign(bytes)}};
    std::ranges::sort(foreign, {}, &Vote::voter);
    CHECK_FALSE(counts({votes[1]}));
    CHECK_FALSE(counts(foreign));
    CHECK(counts({votes[0], votes[2]}));
    CHECK(three.peer.place() == std::pair{std::uint64_t{1}, StepIndex{1}});
}

TEST_CASE("claim 2: a voter stores a promise before it sends it", "[core]") {
    AmongThree three;
    const Term term{.number = 4, .coordinator = kOther.public_key()};
    three.hear(*three.other, wire::Elect{term});
    const auto promises = three.peer.said_to<wire::Promise>(*three.other);
    REQUIRE(promises.size() == 1);
    CHECK(promises[0].granted);
    const auto stored = three.peer.acted<action::Voted>();
    REQUIRE_FALSE(stored.empty());
    CHECK(stored.back().state.promised == term);
    CHECK(place_of(three.peer.actions, is_stored) <
          place_of(three.peer.actions, says<wire::Promise>));
}

TEST_CASE("claim 4: a voter stores its vote for a state before it sends it, and votes once",
          "[core]") {
    AmongThree three;
    three.decide();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = three.history.state()});
    CHECK(place_of(three.peer.actions, is_stored) <
          place_of(three.peer.actions, says<wire::StateVotes>));
    three.peer.forget();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = Digest{{std::byte{66}}}});
    for (const wire::StateVotes& votes : three.peer.said<wire::StateVotes>()) {
        CHECK(votes.state == three.history.state());
    }
}

TEST_CASE("claim 4: a state is certified by votes of voters, each from its voter and counted once",
          "[core]") {
    AmongThree three;
    three.decide();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = three.history.state()});
    std::uint8_t newcomers = 20;
    // A newcomer is sent the newest certificate.
    const auto is_certified = [&] {
        three.peer.forget();
        OtherEnd& newcomer = three.peer.introduce(test_key(++newcomers));
        const auto told = three.peer.said_to<wire::StateVotes>(newcomer);
        return !told.empty() && told.back().state == three.history.state();
    };
    const wire::StateVotes vote = three.history.state_votes({kOther});
    three.hear(*three.member, three.history.state_votes({kMember}));
    for (OtherEnd* end : {three.member, three.third}) three.hear(*end, vote);  // passed on
    CHECK_FALSE(is_certified());
    wire::StateVotes forged = vote;
    forged.votes[0].signature[0] ^= std::byte{1};
    three.hear(*three.other, forged);
    wire::StateVotes another = vote;
    another.state.bytes[5] ^= std::byte{1};
    three.hear(*three.other, another);
    three.peer.hear(*three.other, StepIndex{1}, vote, 0);  // its generation is over
    CHECK_FALSE(is_certified());
    three.hear(*three.other, vote);
    CHECK(is_certified());
}

TEST_CASE("a peer that forges signatures is not heard until it links again", "[core]") {
    AmongThree three;
    three.decide();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = three.history.state()});
    const wire::StateVotes certificate = three.history.state_votes(sorted({kOther, kThird}));
    wire::StateVotes forged = certificate;
    forged.votes[0].signature[0] ^= std::byte{1};
    const auto is_certified = [&](OtherEnd*& end) {
        three.hear(*end, certificate);
        three.peer.close(*three.third);
        three.third = &three.peer.introduce(kThird);
        const auto told = three.peer.said_to<wire::StateVotes>(*three.third);
        return std::ranges::count(told, certificate) == 1;
    };
    for (int i = 0; i < 7; ++i) three.hear(*three.member, forged);
    CHECK_FALSE(three.peer.has_note("without the votes that they need"));
    three.hear(*three.member, forged);
    CHECK(three.peer.has_note("without the votes that they need"));
    three.peer.forget();
    three.hear(*three.member, forged);
    CHECK_FALSE(three.peer.has_note("without the votes that they need"));
    CHECK_FALSE(is_certified(three.member));
    three.peer.close(*three.member);
    three.member = &three.peer.introduce(kMember);
    CHECK(is_certified(three.member));
}

TEST_CASE("a voter tells its vote for a state on every new link, until the state is certified",
          "[core]") {
    AmongThree three;
    three.decide();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = three.history.state()});
    const auto is_told_anew = [&](OtherEnd*& end, const KeyPair& key) {
        three.peer.close(*end);
        end = &three.peer.introduce(key, kBackboneEnd);
        const auto told = three.peer.said_to<wire::StateVotes>(*end);
        return std::ranges::count(told, three.history.state_votes({kSelf})) == 1;
    };
    CHECK(is_told_anew(three.third, kThird));
    CHECK_FALSE(is_told_anew(three.member, kMember));
    three.hear(*three.other, three.history.state_votes({kOther}));
    CHECK_FALSE(is_told_anew(three.third, kThird));
}

TEST_CASE("claim 4: a coordinator whose state is not the certified one steps down", "[core]") {
    AmongThree three;
    three.decide();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = Digest{{std::byte{66}}}});
    three.lead();
    CHECK_FALSE(three.peer.has_note("not coordinating any more"));
    three.hear(*three.member, three.history.state_votes(sorted({kOther, kThird})));
    CHECK(three.peer.has_note("not coordinating any more: its state is damaged"));
    CHECK(three.peer.acted<action::Pause>().size() == 1);
    CHECK(three.peer.heartbeat().term == Term{});
}

TEST_CASE("a new coordinator sends the newest certificate to every peer", "[core]") {
    AmongThree three;
    three.decide();
    three.peer.tell(event::StateReached{.step = StepIndex{1}, .digest = three.history.state()});
    three.hear(*three.other, three.history.state_votes({kOther}));
    CHECK(three.peer.said_to<wire::StateVotes>(*three.member).empty());
    for (OtherEnd* end : {three.other, three.third}) three.hear(*end, three.voter_heartbeat());
    three.peer.pass(5s);
    const Term term = three.peer.said<wire::Elect>().back().term;
    three.hear(*three.third, wire::Promise{.term = term, .granted = true, .promised = term});
    for (const OtherEnd* end : {three.other, three.third, three.member}) {
        const auto told = three.peer.said_to<wire::StateVotes>(*end);
        REQUIRE_FALSE(told.empty());
        CHECK(told.back().votes.size() == 2);
    }
}

// --- fetched states ----------------------------------------------------------

TEST_CASE("claim 4: a keeper of history loads no state beyond its commits, others a signed one",
          "[core]") {
    const Role role = GENERATE(Role::kTrainer, Role::kBackbone);
    const bool is_signed = GENERATE(true, false);
    HandFed peer{config_of(role), kSelf};
    OtherEnd& donor = peer.introduce(kBackbone, kBackboneEnd);
    WrittenHistory history{kBackbone};
    for (int k = 0; k < 5; ++k) history.decide();
    const StepIndex step = history.head().step;
    wire::StateOffer offer{.bytes = config_of(role).rules.state_bytes(),
                           .leaves = {Digest{{std::byte{3}}}},
                           .record = history.head().record,
                           .votes = {}};
    const StateCertificate certificate{
        .generation = 0,
        .step = step,
        .record = offer.record,
        .state = state::state_digest(step, offer.leaves, offer.bytes),
        .votes = {}};
    const KeyPair& signer = is_signed ? kBackbone : kOther;
    offer.votes = {{kBackbone.public_key(), signer.sign(state_vote_bytes({}, certificate))}};
    wire::Heartbeat heartbeat = history.heartbeat();
    heartbeat.state = certificate.state;
    peer.hear(donor, step, heartbeat);
    peer.pass(3s);
    REQUIRE_FALSE(peer.said_to<wire::StateQuery>(donor).empty());
    peer.hear(donor, step, offer);
    peer.pass(3s);
    const bool is_loaded = !peer.said<wire::LeafRequest>().empty();
    CHECK(is_loaded == (is_signed && role == Role::kTrainer));
    CHECK(peer.has_note("that its certificate does not prove") == !is_loaded);
}

// --- generations -------------------------------------------------------------

TEST_CASE("claim 5: only a higher generation replaces one", "[core]") {
    AmongThree three{Role::kTrainer, {kOther, kThird, kBackbone}};
    WrittenHistory branch{kBackbone};
    const SignedGeneration equal = branch.appoint({kMember}, kProject);
    const SignedGeneration higher = branch.appoint({kMember}, kProject);
    REQUIRE(higher.record.generation == 2);
    const auto begins = [&](const SignedGeneration& generation) {
        three.peer.forget();
        three.peer.hear(*three.member, {}, wire::Generation{generation}, 1);
        return !three.peer.acted<action::GenerationBegun>().empty();
    };
    CHECK_FALSE(begins(equal));
    CHECK_FALSE(begins(three.generation));
    CHECK(begins(higher));
    CHECK_FALSE(begins(equal));
    CHECK(three.peer.place().first == 2);
}

namespace {

/// A backbone whose host holds the project's key, and a peer that is to vote.
struct Appointing : Beside {
    Appointing() : Beside(Role::kBackbone, config()), candidate(&peer.introduce(kOther)) {
        peer.tell(event::VotersWanted{.voters = wanted, .min_generation = 1});
    }
    static PeerConfig config() {
        PeerConfig config = config_of(Role::kBackbone);
        config.may_begin_generations = true;
        return config;
    }
    std::vector<GenerationRecord> asked() {
        peer.pass(1s);
        std::vector<GenerationRecord> records;
        for (const auto& one : peer.acted<action::GenerationWanted>()) {
            records.push_back(one.record);
        }
        return records;
    }
    const std::vector<PeerKey> wanted = [] {
        std::vector<PeerKey> keys{kBackbone.public_key(), kOther.public_key()};
        std::ranges::sort(keys);
        return keys;
    }();
    OtherEnd* candidate;
};

}  // namespace

TEST_CASE("voters are appointed once the new ones hold the state", "[core]") {
    Appointing appointing;
    CHECK(appointing.asked().empty());  // it has said nothing
    wire::Heartbeat heartbeat = appointing.history.heartbeat();
    heartbeat.has_state = false;
    appointing.peer.hear(*appointing.candidate, {}, heartbeat);
    CHECK(appointing.asked().empty());
    heartbeat.has_state = true;
    heartbeat.state.bytes[9] ^= std::byte{1};
    appointing.peer.hear(*appointing.candidate, {}, heartbeat);
    CHECK(appointing.asked().empty());
    appointing.peer.hear(*appointing.candidate, {}, appointing.history.heartbeat());
    // It has no vote in this generation, so the voters may have decided more than it knows.
    CHECK(appointing.asked().empty());
    appointing.peer.hear(*appointing.backbone, {}, appointing.history.heartbeat());
    const auto records = appointing.asked();
    REQUIRE(records.size() == 1);
    CHECK(records[0] == GenerationRecord{.generation = 1,
                                         .step = {},
                                         .state = appointing.history.state(),
                                         .voters = appointing.wanted});
    const SignedGeneration generation{
        .record = records[0], .signature = kProject.sign(digest_of(RunId{}, records[0]).bytes)};
    SECTION("and begin with the state that was asked for") {
        appointing.peer.tell(event::GenerationSigned{generation});
        CHECK(appointing.peer.acted<action::GenerationBegun>().size() == 1);
        CHECK(appointing.peer.place().first == 1);
    }
    SECTION("unless the swarm has moved on meanwhile") {
        appointing.hear_commit(appointing.decide(1)[0]);
        appointing.peer.tell(
            event::StateReached{.step = StepIndex{1}, .digest = appointing.history.state()});
        appointing.peer.tell(event::GenerationSigned{generation});
        CHECK(appointing.peer.acted<action::GenerationBegun>().empty());
        CHECK(appointing.peer.has_note("the swarm has gone on since it was asked for"));
    }
}

// --- the end of a run --------------------------------------------------------

namespace {

/// A peer at step 0 of a run of two steps.
struct Ending : Beside {
    explicit Ending(Role role) : Beside(role, config(role)), decisions(decide(2)) {
        peer.hear(*backbone, StepIndex{2}, history.heartbeat());
    }
    static PeerConfig config(Role role) {
        PeerConfig config = config_of(role);
        config.rules.last_step = StepIndex{2};
        return config;
    }
    bool is_finished() const { return !peer.acted<action::Finished>().empty(); }
    std::vector<Decision> decisions;
};

}  // namespace

TEST_CASE("a run is over for a peer once the voters have signed the last state", "[core]") {
    Ending ending{Role::kTrainer};
    HandFed& peer = ending.peer;
    const Digest last = ending.history.state();
    for (const Decision& decision : ending.decisions) ending.hear_commit(decision);
    peer.pass(1s);
    CHECK_FALSE(ending.is_finished());  // it does not hold that state
    peer.tell(event::StateReached{.step = StepIndex{2}, .digest = last});
    peer.pass(1s);
    CHECK_FALSE(ending.is_finished());
    SECTION("the voters have signed") {
        peer.hear(*ending.backbone, StepIndex{2}, ending.history.state_votes());
    }
    SECTION("the voters are gone for good") {
        const Duration limit = 12 * ending.config(Role::kTrainer).rules.failure_timeout;
        peer.pass(limit - 3s);
        CHECK_FALSE(ending.is_finished());
        peer.pass(2s);
    }
    const auto finished = peer.acted<action::Finished>();
    REQUIRE(finished.size() == 1);
    CHECK(finished[0].step == StepIndex{2});
    CHECK(finished[0].digest == last);
    peer.pass(3s);
    CHECK(peer.acted<action::Finished>().size() == 1);
}

TEST_CASE("the certificate of the last state ends the run for a trainer, not for a keeper",
          "[core]") {
    const Role role = GENERATE(Role::kTrainer, Role::kBackbone);
    Ending ending{role};
    ending.peer.hear(*ending.backbone, StepIndex{2}, ending.history.state_votes());
    CHECK(ending.is_finished() == (role == Role::kTrainer));
}
