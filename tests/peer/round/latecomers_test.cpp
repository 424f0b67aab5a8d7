#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "peer/round/latecomers.hpp"

using namespace dedloc;
using namespace dedloc::round;
using namespace std::chrono_literals;

namespace {

PeerKey latecomer_key(int number) {
    PeerKey key;
    key.bytes[0] = static_cast<std::byte>(number);
    return key;
}

Head head_at(std::uint64_t step, std::uint64_t generation = 0) {
    Head head{.generation = generation, .step = StepIndex{step}, .record = {}, .voters = {}};
    head.record.bytes[0] = static_cast<std::byte>(step);
    head.record.bytes[1] = static_cast<std::byte>(generation + 1);
    return head;
}

constexpr TimePoint at(Duration time) {
    return TimePoint{} + time;
}

/// True if the call for this head waits for these stragglers at first.
bool waits(Latecomers& latecomers, const Head& head, const std::vector<PeerKey>& behind) {
    return latecomers.hold_up(at(0s), head, behind, 2s);
}

}  // namespace

TEST_CASE("a call waits for stragglers until they have arrived", "[round]") {
    Latecomers latecomers;
    const auto ann = latecomer_key(1), bob = latecomer_key(2);
    CHECK_FALSE(latecomers.hold_up(at(0s), head_at(5), {}, 2s));
    CHECK(latecomers.hold_up(at(10s), head_at(6), {ann, bob}, 2s));
    CHECK(latecomers.hold_up(at(11s), head_at(6), {bob}, 2s));
    CHECK_FALSE(latecomers.hold_up(at(11500ms), head_at(6), {}, 2s));
}

TEST_CASE("a call waits only for stragglers that were behind when its target was reached",
          "[round]") {
    Latecomers latecomers;
    CHECK_FALSE(latecomers.hold_up(at(0s), head_at(5), {}, 2s));
    CHECK_FALSE(latecomers.hold_up(at(1s), head_at(5), {latecomer_key(1)}, 2s));
}

TEST_CASE("a wait ends with its timeout, and the next steps have no wait", "[round]") {
    Latecomers latecomers;
    const auto ann = latecomer_key(1), bob = latecomer_key(2);
    CHECK(latecomers.hold_up(at(0s), head_at(8), {ann}, 2s));
    CHECK(latecomers.hold_up(at(1999ms), head_at(8), {ann}, 2s));
    CHECK_FALSE(latecomers.hold_up(at(2s), head_at(8), {ann}, 2s));
    CHECK_FALSE(latecomers.hold_up(at(3s), head_at(8), {ann}, 2s));
    CHECK_FALSE(waits(latecomers, head_at(9), {bob}));
    CHECK(waits(latecomers, head_at(10), {bob}));
}

TEST_CASE("a call waits ever more seldom for a peer that is always behind", "[round]") {
    Latecomers latecomers;
    const auto ann = latecomer_key(1), bob = latecomer_key(2);
    std::vector<std::uint64_t> waited;
    for (std::uint64_t step = 0; step < 200; ++step) {
        if (!waits(latecomers, head_at(step), {ann})) continue;
        waited.push_back(step);
        CHECK_FALSE(latecomers.hold_up(at(1s), head_at(step), {}, 2s));  // it has arrived
    }
    CHECK(waited == std::vector<std::uint64_t>{0, 2, 6, 14, 30, 62, 126, 190});
    CHECK(waits(latecomers, head_at(201), {ann, bob}));  // for bob
    // It has been in rounds for long: earlier waits do not count any more.
    CHECK_FALSE(waits(latecomers, head_at(317), {}));
    CHECK(waits(latecomers, head_at(318), {ann}));
    CHECK(waits(latecomers, head_at(320), {ann}));
}

TEST_CASE("a new generation forgets earlier waits", "[round]") {
    Latecomers latecomers;
    const auto ann = latecomer_key(1);
    CHECK(waits(latecomers, head_at(100), {ann}));
    CHECK_FALSE(latecomers.hold_up(at(2s), head_at(100), {ann}, 2s));
    CHECK(waits(latecomers, head_at(7, 1), {ann}));
}
