#include "peer/round/complaints.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>

using namespace dedloc;
using namespace dedloc::round;

namespace {

using Account = Complaints::Account;

Account account(std::uint64_t user) {
    return {.user = user, .peer = {}};
}

void decide(Complaints& complaints, std::uint32_t rounds) {
    for (std::uint32_t i = 0; i < rounds; ++i) complaints.on_decision();
}

}  // namespace

TEST_CASE("an account is doubted after two charges, and each is forgiven later than the last",
          "[round]") {
    Complaints complaints;
    complaints.charge(account(1));
    CHECK_FALSE(complaints.is_doubted(account(1)));
    complaints.charge(account(1));
    CHECK(complaints.is_doubted(account(1)));
    CHECK_FALSE(complaints.is_doubted(account(2)));
    std::uint32_t rounds = Complaints::kRounds;
    for (int i = 0; i < 5; ++i) {
        decide(complaints, rounds - 1);
        CHECK(complaints.is_doubted(account(1)));
        complaints.on_decision();
        CHECK_FALSE(complaints.is_doubted(account(1)));
        complaints.charge(account(1));
        CHECK(complaints.is_doubted(account(1)));
        rounds *= 2;
    }
    // One charge that weighs as much as all.
    complaints.charge(account(3), Complaints::kBelieved);
    CHECK(complaints.is_doubted(account(3)));
}

TEST_CASE("an account that is late now and then is no liar", "[round]") {
    Complaints complaints;
    for (int i = 0; i < 5; ++i) {
        CHECK_FALSE(complaints.on_late(account(1)));
        CHECK_FALSE(complaints.on_late(account(1)));
        CHECK_FALSE(complaints.on_late(account(2)));
        decide(complaints, Complaints::kLateRounds + 1);
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(complaints.on_late(account(1)).has_value() == (i == 2));
        decide(complaints, Complaints::kLateRounds);
    }
    CHECK_FALSE(complaints.on_late(account(1)));
}

TEST_CASE("a pair is tried again after some rounds, and after twice as many the next time",
          "[round]") {
    Complaints complaints;
    std::uint32_t rounds = Complaints::kRounds;
    for (int i = 0; i < 5; ++i) {
        complaints.part(account(2), account(1));
        decide(complaints, rounds - 1);
        CHECK(complaints.are_apart(account(1), account(2)));
        CHECK(complaints.are_apart(account(2), account(1)));
        CHECK_FALSE(complaints.are_apart(account(1), account(3)));
        complaints.on_decision();
        CHECK_FALSE(complaints.are_apart(account(1), account(2)));
        rounds *= 2;
    }
}

TEST_CASE("what is remembered of complaints is bounded, and the newest is kept", "[round]") {
    Complaints complaints;
    for (std::uint64_t user = 1; user <= 10'000; ++user) {
        complaints.charge(account(user));
        complaints.part(account(user), account(user + 1));
        complaints.on_decision();
    }
    complaints.charge(account(10'000));
    CHECK(complaints.is_doubted(account(10'000)));
    CHECK(complaints.are_apart(account(10'000), account(10'001)));
    complaints.charge(account(1));
    CHECK_FALSE(complaints.is_doubted(account(1)));
    CHECK_FALSE(complaints.are_apart(account(1), account(2)));
}

TEST_CASE("the accounts that one is apart from are counted until the pairs are forgotten",
          "[round]") {
    Complaints complaints;
    complaints.part(account(1), account(2));
    complaints.part(account(3), account(1));
    complaints.part(account(1), account(3));
    complaints.bar(account(1));
    using Counts = std::map<Account, std::size_t>;
    CHECK(complaints.count_apart() == Counts{{account(1), 2}, {account(2), 1}, {account(3), 1}});
    decide(complaints, Complaints::kRounds);
    // The second time is twice as long.
    CHECK(complaints.count_apart() == Counts{{account(1), 1}, {account(3), 1}});
    decide(complaints, Complaints::kRounds);
    CHECK(complaints.count_apart().empty());
}
