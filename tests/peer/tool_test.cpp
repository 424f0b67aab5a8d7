// The synthetic gradient can be computed again, and the synthetic run is a run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "peer/base/error.hpp"
#include "peer/tool/synthetic_gradient.hpp"
#include "peer/tool/synthetic_run.hpp"

using namespace dedloc;
using namespace dedloc::tool;

namespace {

PeerKey key_of(unsigned char first) {
    PeerKey key;
    key.bytes[0] = std::byte{first};
    return key;
}

FloatVector gradient_of(const PeerKey& peer, std::uint64_t step, std::size_t elements) {
    FloatVector gradient(elements);
    fill_gradient(peer, StepIndex{step}, gradient);
    return gradient;
}

CommitLine line_of(const PeerKey& peer, std::uint64_t samples) {
    return {.peer = peer, .samples = Samples{samples}, .loss_sum = 0, .stays = true};
}

}  // namespace

TEST_CASE("a synthetic gradient depends on the peer and the step alone", "[tool]") {
    const FloatVector gradient = gradient_of(key_of(1), 7, 1'001);
    REQUIRE(gradient == gradient_of(key_of(1), 7, 1'001));
    REQUIRE(gradient != gradient_of(key_of(2), 7, 1'001));
    REQUIRE(gradient != gradient_of(key_of(1), 8, 1'001));
    // A longer one begins with the same numbers.
    const FloatVector longer = gradient_of(key_of(1), 7, 2'000);
    REQUIRE(std::equal(gradient.begin(), gradient.end(), longer.begin()));
    double sum = 0;
    for (const float x : gradient) {
        REQUIRE(std::abs(x) <= 1.0F);
        sum += static_cast<double>(x);
    }
    REQUIRE(std::abs(sum / 1'001) < 0.1);
}

TEST_CASE("an average follows from the commit record", "[tool]") {
    constexpr std::size_t kElements = 33;
    CommitRecord record;
    record.step = StepIndex{4};
    record.members = {line_of(key_of(1), 3), line_of(key_of(2), 0), line_of(key_of(3), 5)};
    const FloatVector first = gradient_of(key_of(1), 4, kElements);
    const FloatVector third = gradient_of(key_of(3), 4, kElements);
    const FloatVector average = expected_average(record, kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
        REQUIRE(average[i] == (3.0F * first[i] + 5.0F * third[i]) / 8.0F);
    }
    record.members = {line_of(key_of(2), 0)};
    REQUIRE(expected_average(record, kElements).empty());
}

TEST_CASE("a synthetic run can be written and read back", "[tool]") {
    for (const std::uint64_t bytes : {4ull, 1'000ull, 18'000'000ull, 20'000'000'000ull}) {
        const wire::RunFile run = make_run({.bytes = bytes, .dht_seeds = {}});
        REQUIRE(wire::element_count(run) == bytes / 4);
        REQUIRE(wire::parse_run_file(wire::write_run_file(run)) == run);
    }
    REQUIRE(make_run({.bytes = 4, .codec = Codec::kFp16, .dht_seeds = {}}).codec == Codec::kFp16);
    REQUIRE_THROWS_AS(make_run({.bytes = 6, .dht_seeds = {}}), InputError);
    REQUIRE_THROWS_AS(make_run({.bytes = 0, .dht_seeds = {}}), InputError);
}
