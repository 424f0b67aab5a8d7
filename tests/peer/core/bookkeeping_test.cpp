// The parts of Core that keep books: state certificates, queries for missed commits, requests for a
// generation.
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "peer/core/generation_request.hpp"
#include "peer/core/missed_commits.hpp"
#include "peer/core/state_certificates.hpp"
#include "peer/wire/limits.hpp"
#include "tests/peer/membership/voter_bench.hpp"

namespace dedloc {
namespace {

using namespace std::chrono_literals;
using membership::config_for;
using membership::key_of;
using membership::known_voters;
using membership::state_certificate;
using membership::Voter;

TimePoint at(std::chrono::milliseconds time) {
    return TimePoint{time};
}

Digest state_of(std::uint8_t number) {
    Digest digest;
    digest.bytes[0] = std::byte{number};
    return digest;
}

struct ThreeVoters {
    std::vector<KeyPair> keys = known_voters(3);
    PeerConfig config = config_for(keys);
    Voter voter{config, keys[0]};
    StateCertificates certificates{voter};

    /// What voter `k` votes for.
    std::optional<StateCertificate> vote(std::size_t k, const Digest& state) {
        return certificates.count(keys[k].public_key(),
                                  state_certificate(voter.head(), state, {keys[k]}));
    }
};

TEST_CASE("votes of a majority for one state are its certificate (claim 4)", "[core]") {
    ThreeVoters three;
    CHECK_FALSE(three.vote(0, state_of(1)));
    CHECK_FALSE(three.vote(0, state_of(1)));  // the same voter twice
    CHECK_FALSE(three.vote(1, state_of(7)));  // another state
    const auto certificate = three.vote(2, state_of(1));
    REQUIRE(certificate);
    CHECK(certificate->state == state_of(1));
    CHECK(certificate->votes.size() == 2);
    CHECK(three.voter.is_proven(*certificate));
}

TEST_CASE("a forged vote makes no certificate", "[core]") {
    ThreeVoters three;
    CHECK_FALSE(three.vote(0, state_of(1)));
    StateCertificate forged = state_certificate(three.voter.head(), state_of(1), {three.keys[1]});
    forged.votes.front().signature[5] ^= std::byte{1};
    CHECK_FALSE(three.certificates.count(three.keys[1].public_key(), forged));
}

TEST_CASE("certificates are kept by step, the newest few, until a generation begins", "[core]") {
    ThreeVoters three;
    StateCertificate certificate = state_certificate(three.voter.head(), state_of(1), three.keys);
    for (std::uint64_t step = 1; step <= 20; ++step) {
        certificate.step = StepIndex{step};
        CHECK(three.certificates.add(certificate));
        CHECK_FALSE(three.certificates.add(certificate));
    }
    CHECK(three.certificates.newest()->step == StepIndex{20});
    CHECK(three.certificates.at(StepIndex{20}) != nullptr);
    CHECK_FALSE(three.certificates.contains(StepIndex{1}));
    CHECK_FALSE(three.vote(0, state_of(1)));
    CHECK(three.certificates.vote_of(three.keys[0].public_key()) != nullptr);
    three.certificates.clear();
    CHECK(three.certificates.newest() == nullptr);
    CHECK(three.certificates.vote_of(three.keys[0].public_key()) == nullptr);
}

TEST_CASE("a keeper asks another voter each time, with a pause between", "[core]") {
    const PeerKey a = key_of(1).public_key();
    const PeerKey b = key_of(2).public_key();
    MissedCommits missed{1s};
    CHECK_FALSE(missed.peer_to_ask(at(0ms), {}));
    missed.note_ahead(a, StepIndex{5});
    missed.note_ahead(b, StepIndex{7});
    std::set<PeerKey> asked;
    asked.insert(*missed.peer_to_ask(at(0ms), {}));
    CHECK_FALSE(missed.peer_to_ask(at(999ms), {}));
    asked.insert(*missed.peer_to_ask(at(1000ms), {}));
    CHECK(asked == std::set<PeerKey>{a, b});
    // A full answer: the next query follows as soon as it would be answered.
    for (std::size_t k = 0; k < wire::kMaxCommitsPerQuery; ++k) missed.received();
    CHECK_FALSE(missed.peer_to_ask(at(1020ms), {}));
    CHECK(missed.next_deadline() == at(1040ms));
    CHECK(missed.peer_to_ask(at(1040ms), {}));
    // At step 5 only b is ahead.
    missed.head_moved(StepIndex{5});
    CHECK(missed.peer_to_ask(at(2100ms), {}) == b);
    // All that was known to be missing is here: the next peer that is ahead is asked at once.
    missed.head_moved(StepIndex{7});
    CHECK(missed.next_deadline() == kNever);
    missed.note_ahead(b, StepIndex{8});
    CHECK_FALSE(missed.peer_to_ask(at(2139ms), {}));
    CHECK(missed.peer_to_ask(at(2140ms), {}) == b);
    missed.lost(b);
    const std::vector<PeerKey> others{a};
    CHECK(missed.peer_to_ask(at(3140ms), others) == a);
}

TEST_CASE("a keeper that asks without end is answered at most fifty times a second", "[core]") {
    const PeerKey keeper = key_of(1).public_key();
    MissedCommits missed{1s};
    int answers = 0;
    for (int time = 0; time < 1000; ++time) {
        answers += missed.may_answer(at(std::chrono::milliseconds{time}), keeper) ? 1 : 0;
    }
    CHECK(answers == 50);
    CHECK(missed.may_answer(at(1000ms), key_of(2).public_key()));
}

TEST_CASE("requests for a generation have rising numbers and a pause between", "[core]") {
    GenerationRequest request{5s};
    CHECK(request.is_due(at(0ms)));
    CHECK_FALSE(request.is_open(at(0ms)));
    CHECK(request.ask(at(0ms), 0) == 1);
    CHECK(request.is_open(at(4999ms)));
    CHECK_FALSE(request.is_due(at(4999ms)));
    CHECK_FALSE(request.is_open(at(5000ms)));
    CHECK(request.ask(at(5000ms), 0) == 2);  // the former answer may still come
    request.answered(at(5100ms));
    CHECK(request.is_due(at(5100ms)));
    CHECK(request.ask(at(5100ms), 7) == 8);
    request.want({key_of(1).public_key()}, 9, at(5200ms));
    CHECK(request.is_due(at(5200ms)));
    CHECK(request.min_generation() == 9);
    request.want({key_of(1).public_key()}, 1'800'000'000, at(5300ms));
    CHECK(request.ask(at(5300ms), 8) == 1'800'000'000);
    CHECK(request.ask(at(5300ms), 8) == 1'800'000'001);
}

TEST_CASE("a missing state is given up a minute after the head moved", "[core]") {
    GenerationRequest request{5s};
    request.watch(at(0s), false);
    CHECK_FALSE(request.is_stuck(at(59'999ms)));
    CHECK(request.is_stuck(at(60s)));
    request.watch(at(60s), true);  // it comes after all
    CHECK_FALSE(request.is_stuck(at(200s)));
    request.watch(at(200s), false);
    request.head_moved();
    request.watch(at(230s), false);
    CHECK_FALSE(request.is_stuck(at(260s)));
    CHECK(request.is_stuck(at(290s)));
}

}  // namespace
}  // namespace dedloc
