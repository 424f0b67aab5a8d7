// Attacks that need one or two of sixteen trainers, one of three voters, or many keys of two users,
// with the timeouts of a real run: the members that attack decide nothing, the run keeps its speed,
// and its log names them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "tests/sim/attack.hpp"

using namespace dedloc;
using namespace dedloc::sim;
using hostile::Misbehaviour;

namespace {

/// One and two of sixteen trainers attack, or one of the voters.
void require_defeated(const Attack& attack) {
    for (const auto seed : seeds(1)) {
        INFO("replay: " << replay_command(seed));
        for (const std::size_t liars : attack.liars()) {
            const std::size_t honest = attack.honest_trainers(liars);
            const Outcome& clean = without_liars(seed, attack, liars);
            const Outcome outcome = sound_outcome_of(seed, attack, liars);
            const std::string text = fmt::format(
                "{} {}, {} honest trainers, {} voters: step {} after {:.0f} s, {:.0f} s without; "
                "then {:.1f} steps a minute, {:.1f} without; accused: liars {} times, others {} "
                "times",
                liars, name_of(attack.misbehaviour), honest, attack.voters, kKnown.value(),
                outcome.known_after, clean.known_after, outcome.steps_a_minute,
                clean.steps_a_minute, outcome.liars, outcome.honest);
            INFO(text);
            if (std::getenv("DEDLOC_SHOW") != nullptr) WARN(text);
            CHECK(outcome.steps_a_minute >= attack.part * clean.steps_a_minute);
            CHECK(outcome.honest == 0);
            if (attack.is_named) CHECK(outcome.liars > 0);
            if (attack.is_crowd()) CHECK(outcome.fewest_honest == honest);
        }
    }
}

}  // namespace

TEST_CASE("averages that many members name decide nothing", "[averaging][sim]") {
    // The others fetch the average of each round, see who has sent them another one, and name it.
    require_defeated({.misbehaviour = Misbehaviour::kSplitAverage});
}
TEST_CASE("averages that differ between voters cost a round", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kSplitAverage, .voters = 3});
}
TEST_CASE("a coordinator that proposes another average than the voters' decides nothing",
          "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kFalseProposal, .voters = 3});
}
TEST_CASE("a member that is ready alone decides nothing", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kLoneReady});
}
TEST_CASE("a member that only keeps its link alive stops no round", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kDrip});
}
TEST_CASE("a member that sends nothing in one round of four is soon not called",
          "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kPulse});
}
TEST_CASE("a member that sends just often enough to be no stall stops no round",
          "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kTrickle});
}
TEST_CASE("a member that joins late is not waited for", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kLateJoin});
}
TEST_CASE("a member that does not join one round of four is soon not called", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kNoShow});
}
TEST_CASE("a member that hangs up in every round is soon not called", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kHangUp});
}
TEST_CASE("averages that are not finite skip no update", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kNanAverage});
}
TEST_CASE("complaints of two reducers exclude no member that the coordinator hears",
          "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kPurge});
}
TEST_CASE("a member that introduces itself again and again is cut off", "[state][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kHelloStorm});
}
TEST_CASE("certificates with false signatures are not looked at for long", "[state][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kFalseVotes});
}
TEST_CASE("a link that a member claims to be slow stops no round", "[averaging][sim]") {
    // It need not be named: a link may be slow.
    require_defeated({.misbehaviour = Misbehaviour::kSlowClaim, .is_named = false});
}
TEST_CASE("members that are late together stop no round", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kLateReady});
}
TEST_CASE("chunks of sums that do not exist displace no others", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kEarlyFlood});
}
TEST_CASE("heartbeats of many terms slow nothing down", "[membership][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kHeartbeatStorm});
}
TEST_CASE("many keys of two users take no seats of others", "[averaging][sim]") {
    require_defeated({.misbehaviour = Misbehaviour::kKeySquat});
}
