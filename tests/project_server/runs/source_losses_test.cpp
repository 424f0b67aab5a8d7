// The training loss of each source is found from contributions that have samples of several.
#include "project_server/runs/source_losses.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "peer/base/random.hpp"

namespace dedloc::runs {
namespace {

/// Contributions of 50 samples of two sources with equal weights; the losses of their samples
/// deviate by 0.5.
SourceLosses two_sources(std::uint64_t steps, double easy, double hard, double slope) {
    SourceLosses losses{3};
    Random random{11};
    for (std::uint64_t step = 0; step < steps; ++step) {
        std::vector<std::uint64_t> samples(3, 0);
        double sum = 0;
        for (int i = 0; i < 50; ++i) {
            const std::uint64_t source = random.below(2);
            ++samples[source];
            sum += (source == 0 ? easy : hard) + slope * static_cast<double>(steps - 1 - step) +
                   0.5 * random.near_normal();
        }
        losses.add(step, samples, sum);
    }
    return losses;
}

TEST_CASE("losses of two sources are found within their errors", "[server]") {
    const auto found = two_sources(1'000, 2.0, 5.0, 0.001).estimate();
    REQUIRE(found.size() == 3);
    REQUIRE((found[0] && found[1]));
    CHECK_FALSE(found[2]);  // it has no samples
    // The error of their difference is 2 × 0.5 ÷ √500, half of it each.
    for (const auto& one : {*found[0], *found[1]}) {
        CHECK(one.error > 0.014);
        CHECK(one.error < 0.035);
    }
    CHECK(std::abs(found[0]->loss - 2.0) < 5 * found[0]->error);
    CHECK(std::abs(found[1]->loss - 5.0) < 5 * found[1]->error);
}

TEST_CASE("only the last contributions count", "[server]") {
    SourceLosses losses{1};
    for (std::uint64_t step = 0; step < SourceLosses::kWindow; ++step) {
        losses.add(step, std::vector<std::uint64_t>{10}, 90);
    }
    for (std::uint64_t step = 0; step < SourceLosses::kWindow; ++step) {
        losses.add(SourceLosses::kWindow + step, std::vector<std::uint64_t>{10}, 20);
    }
    const auto found = losses.estimate();
    REQUIRE(found[0]);
    CHECK(found[0]->loss == Approx(2));
    CHECK(found[0]->error < 1e-6);
}

TEST_CASE("contributions that do not tell the sources apart give no losses", "[server]") {
    SourceLosses losses{2};
    CHECK(losses.estimate() == std::vector<std::optional<LossEstimate>>(2));
    for (std::uint64_t step = 0; step < 100; ++step) {
        losses.add(step, std::vector<std::uint64_t>{10, 30}, 80);
        losses.add(step, std::vector<std::uint64_t>{0, 0}, 0);  // a member without samples
    }
    CHECK(losses.estimate() == std::vector<std::optional<LossEstimate>>(2));
    const SourceLosses few = two_sources(5, 2.0, 5.0, 0);
    CHECK(few.estimate() == std::vector<std::optional<LossEstimate>>(3));
}

TEST_CASE("rounds of one step have losses too", "[server]") {
    SourceLosses losses{2};
    for (std::uint64_t member = 0; member < 40; ++member) {
        losses.add(7, std::vector<std::uint64_t>{member, 40 - member},
                   static_cast<double>(3 * member + 4 * (40 - member)));
    }
    const auto found = losses.estimate();
    REQUIRE((found[0] && found[1]));
    CHECK(found[0]->loss == Approx(3));
    CHECK(found[1]->loss == Approx(4));
}

}  // namespace
}  // namespace dedloc::runs
