#include "project_server/backbone/presence_tracker.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <utility>

using namespace dedloc;
using namespace dedloc::backbone;
using dedloc::server::kLongestStep;
using dedloc::server::kPresenceGap;
using dedloc::server::Presence;

namespace {

constexpr std::int64_t kStart = 1'700'000'000;

PeerKey peer(int number) {
    return PeerKey{blake2b(bytes_of(std::to_string(number))).bytes};
}

CommitLine line(int number, std::uint64_t samples, std::uint32_t reduced = 0) {
    return {.peer = peer(number), .samples = Samples{samples}, .loss_sum = 1, .reduced = reduced};
}

LedgerCommit commit(std::int64_t second, std::vector<CommitLine> members, int took = 10) {
    CommitRecord record;
    record.members = std::move(members);
    std::ranges::sort(record.members, {}, &CommitLine::peer);
    return {.committed_at = WallTime{std::chrono::seconds{kStart + second}},
            .took = std::chrono::seconds{took},
            .decision = {record, {}}};
}

/// Presences of a peer, from the start of the test.
std::vector<Presence> of(const std::vector<Presence>& all, int number) {
    std::vector<Presence> found;
    for (Presence presence : all) {
        if (presence.key != peer(number).hex()) continue;
        presence.began -= kStart;
        presence.ended -= kStart;
        found.push_back(presence);
    }
    return found;
}

}  // namespace

TEST_CASE("a presence lasts from the begin of a peer's first step to the commit of its last",
          "[server]") {
    PresenceTracker tracker{Codec::kFp32};
    // Peer 2 only averages; peer 3 is a member that does nothing.
    tracker.add(commit(10, {line(1, 4), line(2, 0, 100), line(3, 0)}));
    tracker.add(commit(20, {line(2, 0, 100), line(4, 1)}));
    tracker.add(commit(30, {line(1, 6)}));
    const auto all = tracker.take_changed();
    CHECK(all.size() == 3);
    const auto first = of(all, 1);
    REQUIRE(first.size() == 1);
    CHECK(first[0].began == 0);
    CHECK(first[0].ended == 30);
    CHECK(first[0].contributions == 2);
    CHECK(first[0].samples == 10);
    CHECK(of(all, 2).at(0).ended == 20);
    CHECK(of(all, 2).at(0).reduced_bytes > 0);
    CHECK(of(all, 4).at(0).began == 10);
    CHECK(tracker.take_changed().empty());
    tracker.add(commit(40, {line(4, 1)}));
    CHECK(of(tracker.take_changed(), 4).at(0).ended == 40);
}

TEST_CASE("a peer that was away for longer than the gap begins a new presence", "[server]") {
    PresenceTracker tracker{Codec::kFp32};
    tracker.add(commit(10, {line(1, 1), line(2, 1)}));
    // The steps between are another's, so the gap is exactly as long as is allowed for peer 1.
    tracker.add(commit(10 + kPresenceGap, {line(9, 1)}, 10));
    tracker.add(commit(20 + kPresenceGap, {line(1, 1)}, 10));
    tracker.add(commit(31 + kPresenceGap, {line(2, 1)}, 11));
    const auto soon = tracker.take_changed();
    CHECK(of(soon, 1).size() == 1);
    CHECK(of(soon, 2).size() == 2);
    // Both presences are reported, though nothing was asked for between them.
    tracker.add(commit(5 * kPresenceGap, {line(1, 1)}, 10));
    tracker.add(commit(9 * kPresenceGap, {line(1, 1)}, 10));
    const auto late = of(tracker.take_changed(), 1);
    REQUIRE(late.size() == 2);
    CHECK(late[0].began == 5 * kPresenceGap - 10);
    CHECK(late[0].ended == 5 * kPresenceGap);
    CHECK(late[1].began == 9 * kPresenceGap - 10);
    CHECK(late[1].contributions == 1);
}

TEST_CASE("a step that lasted for days, or a clock that was set, proves no more than an hour",
          "[server]") {
    PresenceTracker tracker{Codec::kFp32};
    tracker.add(commit(500'000, {line(1, 1)}, 400'000));
    CHECK(of(tracker.take_changed(), 1).at(0).began == 500'000 - kLongestStep);
    tracker.add(commit(499'000, {line(1, 1)}, -1'000));
    const auto back = of(tracker.take_changed(), 1);
    REQUIRE(back.size() == 1);
    CHECK(back[0].ended == 500'000);
    CHECK(back[0].contributions == 2);
}

TEST_CASE("reading the ledger again finds the same presences, whenever they were taken",
          "[server]") {
    std::vector<LedgerCommit> ledger;
    for (int step = 0; step < 500; ++step) {
        std::vector<CommitLine> members;
        for (int number = 0; number < 7; ++number) {
            if ((step / (5 + 3 * number) + number) % 2 == 0) members.push_back(line(number, 1));
        }
        ledger.push_back(commit(120 * step, std::move(members), 120));
    }
    const auto key = [](const Presence& presence) {
        return std::pair{presence.key, presence.began};
    };
    PresenceTracker at_once{Codec::kFp32};
    PresenceTracker bit_by_bit{Codec::kFp32};
    std::map<std::pair<std::string, std::int64_t>, Presence> rows;
    std::map<std::pair<std::string, std::int64_t>, Presence> last_rows;
    for (std::size_t at = 0; at < ledger.size(); ++at) {
        at_once.add(ledger[at]);
        bit_by_bit.add(ledger[at]);
        if (at % 3 != 0 && at + 1 != ledger.size()) continue;
        for (auto& presence : bit_by_bit.take_changed()) rows[key(presence)] = presence;
    }
    for (auto& presence : at_once.take_changed()) last_rows[key(presence)] = presence;
    CHECK(rows.size() > 20);
    REQUIRE(rows.size() == last_rows.size());
    std::uint64_t contributions = 0;
    for (const auto& [name, presence] : rows) {
        const Presence& other = last_rows.at(name);
        CHECK(presence.ended == other.ended);
        CHECK(presence.contributions == other.contributions);
        contributions += presence.contributions;
    }
    std::uint64_t members = 0;
    for (const auto& commit_ : ledger) members += commit_.decision.record.members.size();
    CHECK(contributions == members);
}
