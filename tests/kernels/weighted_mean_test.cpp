#include "kernels/weighted_mean.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <string>

#include "tests/kernels/aborts.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using dedloc::kernels::weighted_mean;

namespace {

using Parts = std::vector<std::vector<float>>;

std::vector<float> mean_of(const Parts& parts, const std::vector<std::uint64_t>& weights) {
    const std::vector<std::span<const float>> views(parts.begin(), parts.end());
    std::vector<float> out(parts.at(0).size());
    weighted_mean(views, weights, out);
    return out;
}

}  // namespace

TEST_CASE("a mean adds senders in member order and divides once", "[kernels]") {
    constexpr std::size_t kMax = 25;  // more than three passes of the kernel
    for (const std::size_t count : tests::kSizes) {
        Parts parts;
        std::vector<std::span<const float>> views;
        std::vector<std::uint64_t> weights;
        std::uint64_t total = 0;
        std::vector<float> sums(count);
        for (std::size_t k = 0; k < kMax; ++k) {
            parts.push_back(tests::adversarial(Random{k}, count, 1e30));
            weights.push_back(7 * k + 5);
        }
        views.assign(parts.begin(), parts.end());
        for (std::size_t senders = 1; senders <= kMax; ++senders) {
            total += weights[senders - 1];
            std::vector<float> expected(count);
            for (std::size_t i = 0; i < count; ++i) {
                const float x = parts[senders - 1][i];
                const volatile float sum = senders == 1 ? x : sums[i] + x;
                const volatile float mean = sum / static_cast<float>(total);
                sums[i] = sum;
                expected[i] = mean;
            }
            for (const auto set : tests::every_width()) {
                std::vector<float> mean(count);
                kernels::weighted_mean(std::span{views}.first(senders),
                                       std::span{weights}.first(senders), mean,
                                       kernels::ThisThread{set});
                CHECK(std::ranges::equal(mean, expected, tests::same_bits));
            }
        }
    }
}

TEST_CASE("the order of senders decides the bits of a mean", "[kernels]") {
    CHECK(mean_of({{1e8f}, {-1e8f}, {1.0f}}, {1, 1, 2}) == std::vector<float>{0.25f});
    CHECK(mean_of({{1e8f}, {1.0f}, {-1e8f}}, {1, 2, 1}) == std::vector<float>{0.0f});
}

TEST_CASE("a mean divides by its samples rounded to even, in any rounding mode of the thread",
          "[kernels]") {
    constexpr std::uint64_t kSamples = (1u << 24) + 1;  // rounds to 2²⁴
    for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(rounding);
        const auto mean = mean_of({{3.0f}}, {kSamples});
        const auto larger = mean_of({{3.0f}}, {kSamples + 2});  // to 2²⁴ + 4
        std::fesetround(FE_TONEAREST);
        CHECK(mean[0] == 3.0f / 16'777'216.0f);
        CHECK(larger[0] == 3.0f / 16'777'220.0f);
    }
}

TEST_CASE("a mean in chunks is the mean in one piece", "[kernels]") {
    const Parts parts{tests::ordinary(Random{1}, 10'000), tests::ordinary(Random{2}, 10'000)};
    const std::vector<std::uint64_t> weights{3, 4};
    const auto whole = mean_of(parts, weights);
    std::vector<float> pieces(10'000);
    for (std::size_t first = 0; first < pieces.size(); first += 1234) {
        const std::size_t count = std::min<std::size_t>(1234, pieces.size() - first);
        const std::array views{std::span{parts[0]}.subspan(first, count),
                               std::span{parts[1]}.subspan(first, count)};
        weighted_mean(views, weights, std::span{pieces}.subspan(first, count));
    }
    CHECK(pieces == whole);
}

TEST_CASE("a mean refuses misuse in one sentence", "[kernels]") {
    const auto message = [](const Parts& parts, const std::vector<std::uint64_t>& weights) {
        return tests::abort_message([&] { mean_of(parts, weights); });
    };
    CHECK(message({{1}, {2}}, {0, 0}).find("add up to zero") != std::string::npos);
    CHECK(message({{1}, {2, 3}}, {1, 1}).find("another length") != std::string::npos);
    CHECK(message({{1}, {2}}, {1}).find("needs its weight") != std::string::npos);
    CHECK(message({{1}, {2}}, {UINT64_MAX, 1}).find("overflow") != std::string::npos);
    std::vector<float> values(8);
    CHECK(tests::aborts_saying("at least one part", [&] { weighted_mean({}, {}, values); }));
    const std::array parts{std::span<const float>{values}.first(4)};
    CHECK(tests::abort_message([&] {
              weighted_mean(parts, std::array{std::uint64_t{1}}, std::span{values}.subspan(3, 4));
          }).find("overlaps") != std::string::npos);
}
