#include "peer/round/head_times.hpp"

#include <catch2/catch.hpp>
#include <chrono>

namespace dedloc::round {
namespace {

using namespace std::chrono_literals;

RoundRules rules_with(bool overlaps) {
    RoundRules rules;
    rules.overlaps = overlaps;
    rules.target_batch = Samples{96};
    rules.join_timeout = 60s;
    return rules;
}

/// Most samples of a device that computes ten a second, so long after this time.
Samples limit(const HeadTimes& head, TimePoint now) {
    return head.limit(now, head.computing_since(), 10);
}

}  // namespace

TEST_CASE("after a live decision only the time since the head counts", "[averaging]") {
    const RoundRules rules = rules_with(false);
    HeadTimes head{rules};
    const TimePoint begin{1h};
    head.on_head(begin, true);
    CHECK_FALSE(head.may_be_held());
    CHECK(limit(head, begin + 4s) == Samples{50});  // and one second more
    head.on_head(begin + 4s, true);
    CHECK(limit(head, begin + 5s) == Samples{20});
    head.check_invariants();
}

TEST_CASE("a trainer may hold a batch of a head that this peer has not followed", "[averaging]") {
    const RoundRules rules = rules_with(false);
    HeadTimes head{rules};
    head.on_head(TimePoint{1h}, false);
    CHECK(head.may_be_held());
    CHECK(limit(head, TimePoint{1h} + 4s) == Samples{96 + 50});
}

TEST_CASE("with overlap trainers compute for a round since the head before", "[averaging]") {
    const RoundRules rules = rules_with(true);
    HeadTimes head{rules};
    const TimePoint begin{1h};
    head.on_head(begin, false);
    head.on_head(begin + 10s, true);
    CHECK(head.computing_since() == begin);
    CHECK(limit(head, begin + 14s) == Samples{96 + 150});  // a batch from before `begin`
    head.on_head(begin + 20s, true);
    CHECK(limit(head, begin + 24s) == Samples{150});
}

TEST_CASE("a paused run makes no larger claim possible", "[averaging]") {
    const RoundRules rules = rules_with(false);
    HeadTimes head{rules};
    const TimePoint begin{1h};
    head.on_head(begin, true);
    CHECK(head.on_resume(begin + 1s) == 0s);  // it was not paused
    head.on_pause(begin + 10s);
    head.on_pause(begin + 20s);  // counts no second time
    CHECK(head.is_paused());
    // Trainers may finish a micro-batch, for as long as a Call waits.
    CHECK(head.on_resume(begin + 10s + 60s + 100s) == 100s);
    CHECK_FALSE(head.is_paused());
    CHECK(head.computing_since() == begin + 100s);
}

}  // namespace dedloc::round
