// A slow contributor among fast ones: what a reducer keeps, and which members it misses.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <vector>

#include "peer/planning/request.hpp"
#include "tests/peer/round/exchange.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

constexpr std::uint32_t kChunks = 400;
constexpr std::uint64_t kChunkElements = 256;
constexpr std::uint64_t kElements = kChunks * kChunkElements;
const std::uint64_t kChunkBytes = planning::on_the_wire(Codec::kFp32).bytes_of(kChunkElements);
constexpr std::uint32_t kMembers = 8;
/// The reducers and the slow contributor, which reduces nothing.
constexpr std::uint32_t kFirst = 0;
constexpr std::uint32_t kSecond = 1;
constexpr std::uint32_t kSlow = 2;

/// A round in which all contribute, and two members reduce three quarters and a quarter.
struct WindowedRound {
    explicit WindowedRound(std::uint64_t window) {
        plan.term = {.number = 1, .coordinator = peer_key(0)};
        plan.attempt = 1;
        plan.elements = kElements;
        plan.chunk_elements = kChunkElements;
        for (std::uint32_t k = 0; k < kMembers; ++k) {
            plan.members.push_back({.peer = peer_key(k),
                                    .samples = Samples{1},
                                    .loss_sum = 0,
                                    .contribution_id = 1,
                                    .receives = true});
        }
        plan.ranges = {{PeerIndex{kFirst}, 0, 300}, {PeerIndex{kSecond}, 300, kChunks}};
        for (std::uint32_t k = 0; k < kMembers; ++k) {
            const Contribution own{.samples = Samples{1},
                                   .loss_sum = 0,
                                   .is_finite = true,
                                   .sum = std::make_shared<FloatVector>(kElements, 1.0f)};
            members.push_back(std::make_unique<Reduction>(kElements, Codec::kFp32, peer_key(k), 0,
                                                          nullptr, window));
            members.back()->follow(plan, Encoder{Codec::kFp32, own, nullptr});
        }
    }
    /// Delivers the next chunk from one member to another; false: none may be sent.
    bool send(std::uint32_t from, std::uint32_t to) {
        const auto due = members[from]->next(peer_key(to));
        if (!due) return false;
        if (due->kind == wire::ChunkKind::kScatter) ++slices[{from, to}];
        members[to]->take(peer_key(from), members[from]->body(*due));
        return true;
    }
    /// All but the slow contributor send what they may.
    void send_all() {
        for (bool any = true; any;) {
            any = false;
            for (std::uint32_t from = 0; from < kMembers; ++from) {
                for (std::uint32_t to = 0; from != kSlow && to < kMembers; ++to) {
                    while (from != to && send(from, to)) any = true;
                }
                any = any || !members[from]->take_released().empty();
            }
        }
    }
    bool is_complete() const {
        return std::ranges::all_of(members, [](const auto& m) { return m->is_complete(); });
    }

    wire::Plan plan;
    std::vector<std::unique_ptr<Reduction>> members;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> slices;  ///< from, to
};

}  // namespace

TEST_CASE("a slow contributor makes a reducer keep a window of each other one", "[averaging]") {
    constexpr std::uint32_t kWindow = 16;
    WindowedRound round{kWindow * kChunkBytes};
    std::uint32_t turns = 0;
    for (round.send_all(); !round.is_complete(); round.send_all()) {
        for (const std::uint32_t to : {kFirst, kSecond}) {
            const Reduction& reducer = *round.members[to];
            CHECK(reducer.slice_bytes() <= (kMembers - 1) * kWindow * kChunkBytes);
            if (reducer.is_reduced()) continue;
            // The others wait for it: they are not to blame.
            CHECK(reducer.missing_senders() == std::vector{kSlow});
            CHECK(reducer.slowest_senders() == std::vector{kSlow});
            const std::uint32_t slow = round.slices[{kSlow, to}];
            for (std::uint32_t from = 0; from < kMembers; ++from) {
                if (from == to || from == kSlow) continue;
                CHECK(round.slices[{from, to}] <= slow + kWindow);
                const std::uint32_t part = to == kFirst ? 300 : 100;
                CHECK(round.slices[{from, to}] >= std::min(slow + kWindow, part));
            }
        }
        // Its window is never full: it may always send to one of the two, as far as they need it.
        REQUIRE(turns < kChunks);
        if (!round.send(kSlow, kFirst)) REQUIRE(round.send(kSlow, kSecond));
        (void)round.members[kSlow]->take_released();
        ++turns;
    }
    CHECK(turns == kChunks);
    for (const auto& member : round.members) member->check_invariants();
}

TEST_CASE("of contributors that are equally slow none is the slowest", "[averaging]") {
    constexpr std::uint32_t kWindow = 16;
    WindowedRound round{kWindow * kChunkBytes};
    const Reduction& reducer = *round.members[kFirst];
    for (int turn = 0; turn < 4; ++turn) {
        for (std::uint32_t from = 1; from < kMembers; ++from) REQUIRE(round.send(from, kFirst));
        CHECK(reducer.slowest_senders().empty());
    }
    // One that stops is the slowest as soon as most others have filled its window.
    round.send_all();
    CHECK(reducer.slowest_senders() == std::vector{kSlow});
}

TEST_CASE("a reducer whose averages do not come does not delay the slices for the others",
          "[averaging]") {
    WindowedRound round{16 * kChunkBytes};
    // The first reducer, with three quarters of the vector, sends nothing back.
    const std::uint32_t fast = 3;
    const auto ask = [&](std::uint32_t to) {
        return round.members[fast]->next(peer_key(to)).has_value();
    };
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    const auto send = [&] {
        while (ask(kFirst)) ++first;
        while (ask(kSecond)) ++second;
    };
    do send();
    while (!round.members[fast]->take_released().empty());
    CHECK(first == 16);
    CHECK(second == 16);
    CHECK_FALSE(round.members[fast]->holds_back());
    // An average of the second reducer opens its window alone.
    for (const std::uint32_t chunk : {301U, 300U}) {
        CHECK(round.members[fast]->take_opened().empty());
        round.members[fast]->take(
            peer_key(kSecond), {.kind = wire::ChunkKind::kGather,
                                .sum_id = round.members[fast]->sum_id(),
                                .chunk = chunk,
                                .chunk_elements = kChunkElements,
                                .elements = SharedSlice<float>{FloatVector(kChunkElements, 1.0f)}});
    }
    CHECK(round.members[fast]->take_opened() == std::vector{peer_key(kSecond)});
    send();
    CHECK(first == 16);
    CHECK(second == 18);
}
