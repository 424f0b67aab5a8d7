// Links that are judged slow when a round took longer than planned.
#include "peer/round/late_links.hpp"

#include <catch2/catch.hpp>

#include "peer/round/plan_maker.hpp"
#include "tests/peer/wire/samples.hpp"

using namespace dedloc;
using namespace dedloc::round;
using namespace std::chrono_literals;
using tests::test_key;

namespace {

constexpr std::optional<Bandwidth> kClaimedUpload{Bandwidth{12'500'000}};

PeerKey sender(std::uint8_t n) {
    return test_key(n).public_key();
}

/// Trainers 1, 2 and 3 contribute `elements`, and aggregator 4 averages a part of them.
wire::Plan plan_of(std::uint64_t elements) {
    wire::Plan plan;
    plan.elements = elements;
    plan.chunk_elements = 64;
    for (std::uint8_t n = 1; n <= 4; ++n) {
        plan.members.push_back({.peer = sender(n),
                                .samples = Samples{n < 4 ? 1u : 0u},
                                .loss_sum = 0,
                                .contribution_id = 0,
                                .receives = n < 4,
                                .exponent = 0});
    }
    const auto chunks = static_cast<std::uint32_t>(elements / plan.chunk_elements);
    plan.ranges = {{PeerIndex{0}, 0, chunks / 2}, {PeerIndex{3}, chunks / 2, chunks}};
    return plan;
}

/// The upload of the aggregator that counts after a round in which contributions came late, all of
/// them, and its averages so long after the last one.
std::optional<Bandwidth> aggregator_upload(std::uint64_t elements, Duration after) {
    RoundRules rules;
    rules.elements = elements;
    const TimePoint start{};
    RoundTimes times{.published_at = start, .expected = 2s};
    times.contributed = {
        {sender(1), start + 6s}, {sender(2), start + 6500ms}, {sender(3), start + 7s}};
    times.averaged = {{sender(4), start + 7s + after}};
    SeenLinks links;
    judge_links(start + 7s + after, rules, plan_of(elements), times, links);
    for (std::uint8_t n = 1; n < 4; ++n)
        CHECK(links.upload_of(sender(n), kClaimedUpload) == kClaimedUpload);
    return links.upload_of(sender(4), kClaimedUpload);
}

}  // namespace

TEST_CASE("averages of a small part are late only if they come long after contributions",
          "[round]") {
    CHECK(aggregator_upload(64'000, 500ms) == kClaimedUpload);
    const auto withheld = aggregator_upload(64'000, 9s);
    REQUIRE(withheld);
    CHECK(withheld->value() == (1 << 20) / 16 + 1);
}

TEST_CASE("averages of a large part that come last show their sender's link", "[round]") {
    constexpr std::uint64_t kElements = 6'400'000;
    const Traffic traffic = traffic_of(Codec::kFp32, plan_of(kElements), sender(4));
    const auto seen = aggregator_upload(kElements, 500ms);
    REQUIRE(seen);
    CHECK(seen->value() < traffic.sent / 7);
    CHECK(seen->value() > traffic.sent / 8);
}
