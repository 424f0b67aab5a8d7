// How long accounts are excluded from calls.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "peer/round/exclusions.hpp"

using namespace dedloc;
using namespace dedloc::round;
using namespace std::chrono_literals;

namespace {

PeerKey volunteer_key(unsigned number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number);
    key.bytes[1] = static_cast<std::byte>(number >> 8);
    return key;
}

Exclusions::Account key_account(unsigned number) {
    return Exclusions::account_of(volunteer_key(number), 0);
}

constexpr TimePoint kStart{1h};
constexpr Duration kTurn = 10s;

}  // namespace

TEST_CASE("an account is a user with all its devices, or a key without a user", "[round]") {
    CHECK(Exclusions::account_of(volunteer_key(1), 7) ==
          Exclusions::account_of(volunteer_key(2), 7));
    CHECK(Exclusions::account_of(volunteer_key(1), 7) !=
          Exclusions::account_of(volunteer_key(1), 8));
    CHECK(key_account(1) == key_account(1));
    CHECK(key_account(1) != key_account(2));
    CHECK(key_account(1) != Exclusions::account_of(volunteer_key(1), 7));

    Exclusions exclusions;
    exclusions.exclude(Exclusions::account_of(volunteer_key(1), 7), kStart, kTurn);
    CHECK(exclusions.is_out(Exclusions::account_of(volunteer_key(2), 7), kStart));
    CHECK_FALSE(exclusions.is_out(Exclusions::account_of(volunteer_key(2), 8), kStart));
    CHECK_FALSE(exclusions.is_out(key_account(1), kStart));
}

TEST_CASE("each offence costs twice as many turns as the one before, up to a limit", "[round]") {
    Exclusions exclusions;
    TimePoint now = kStart;
    for (std::uint32_t turns = 1; turns <= 4 * Exclusions::kMaxTurns; turns *= 2) {
        const Duration length = kTurn * std::min(turns, Exclusions::kMaxTurns);
        CHECK(exclusions.exclude(key_account(1), now, kTurn) == length);
        CHECK(exclusions.is_out(key_account(1), now));
        CHECK(exclusions.is_out(key_account(1), now + length - 1ns));
        now += length;
        CHECK_FALSE(exclusions.is_out(key_account(1), now));
    }
}

TEST_CASE("decided rounds shorten the next exclusion, and an offence resets their count",
          "[round]") {
    Exclusions exclusions;
    const auto serve = [&](std::uint32_t rounds) {
        for (std::uint32_t k = 0; k < rounds; ++k) exclusions.on_decision(key_account(1));
    };
    const auto cost = [&] { return exclusions.exclude(key_account(1), kStart, kTurn) / kTurn; };
    CHECK(cost() == 1);
    CHECK(cost() == 2);
    CHECK(cost() == 4);  // the next one would cost 8
    serve(Exclusions::kGoodRounds - 1);
    CHECK(cost() == 8);  // the next one would cost 16
    serve(1);            // the third in all, but not in a row
    CHECK(cost() == 16);
    serve(2 * Exclusions::kGoodRounds);
    CHECK(cost() == 8);
    serve(5 * Exclusions::kGoodRounds);
    CHECK(cost() == 1);  // as for a first offence
    serve(10 * Exclusions::kGoodRounds);
    CHECK_FALSE(exclusions.is_out(key_account(1), kStart + 10s));
    CHECK(cost() == 1);
    exclusions.on_decision(key_account(2));  // was never excluded
    CHECK(exclusions.exclude(key_account(2), kStart, kTurn) == kTurn);
}

TEST_CASE("a decided round does not end a running exclusion", "[round]") {
    Exclusions exclusions;
    exclusions.exclude(key_account(1), kStart, kTurn);
    exclusions.exclude(key_account(1), kStart, kTurn);
    exclusions.on_decision(key_account(1));
    exclusions.on_decision(key_account(1));
    CHECK(exclusions.is_out(key_account(1), kStart + 2 * kTurn - 1ns));
}

TEST_CASE("the list is bounded, and a full list drops the exclusion that ends first", "[round]") {
    Exclusions exclusions;
    constexpr unsigned kMany = 4'096;
    for (unsigned k = 0; k < kMany; ++k) {
        exclusions.exclude(key_account(k), kStart, k == 77 ? kTurn / 2 : kTurn);
    }
    CHECK(exclusions.is_out(key_account(77), kStart));
    exclusions.exclude(key_account(kMany - 1), kStart, kTurn);  // already in the list
    CHECK(exclusions.is_out(key_account(77), kStart));
    exclusions.exclude(key_account(kMany), kStart, kTurn);
    CHECK_FALSE(exclusions.is_out(key_account(77), kStart));
    CHECK(exclusions.is_out(key_account(kMany), kStart));
    CHECK(exclusions.is_out(key_account(0), kStart));
}
