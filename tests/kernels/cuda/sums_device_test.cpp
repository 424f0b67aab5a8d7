// Sums on a device have the same bits as on the host.
#include <array>
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <limits>

#include "kernels/accumulate.hpp"
#include "kernels/cuda/accumulate.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/weighted_mean.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/quantize.hpp"
#include "kernels/weighted_mean.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class Element>
void check_accumulate(const Floats& before, const std::vector<Element>& gradient, float scale,
                      std::size_t offset, Device& device) {
    Floats expected = before;
    const auto outcome = kernels::accumulate(expected, gradient, scale);
    const Array<float> sum{before, device, offset};
    const Array<Element> terms{gradient, device, offset};
    const Scalar<double> squares{device, -1};
    const Flag flag{device};
    const Workspace workspace{kernels::cuda::accumulate_workspace_bytes(before.size()), device};
    kernels::cuda::accumulate(sum, DeviceSpan<const Element>{terms}, scale, squares, flag,
                              workspace, device.stream());
    INFO(before.size() << " elements, offset " << offset << ", scale " << scale);
    CHECK(different(sum.values(), expected) == 0);
    CHECK(same_double(squares.value(), outcome.sum_of_squares));
    CHECK(flag.is_raised() == outcome.is_finite);
}

/// A row with infinities and NaNs at a few positions.
Floats spoilt(std::size_t count, std::size_t place, float value) {
    Floats values(count, 1.0f);
    values.at(place) = value;
    return values;
}

}  // namespace

TEST_CASE("accumulate has the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        const Floats before = adversarial(Random{2}, count, 1e30);
        const Floats gradient = adversarial(Random{1}, count, 1e30);
        std::vector<kernels::Half> half(count);
        std::vector<kernels::Bfloat16> bfloat(count);
        CHECK(kernels::quantize(gradient, half));
        CHECK(kernels::quantize(gradient, bfloat));
        for (const std::size_t offset : {0u, 1u}) {
            for (const float scale : {0.1f, -3.0f, 1e-40f}) {
                check_accumulate(before, gradient, scale, offset, device);
            }
            check_accumulate(before, half, -0.3f, offset, device);
            check_accumulate(before, bfloat, 0.3f, offset, device);
        }
    }
}

TEST_CASE("accumulate clears its flag on a device where a sum is not finite", "[cuda]") {
    Device device;
    const Array<float> sum{Floats(70'000, 3e38f), device};
    const Scalar<double> squares{device};
    const Workspace workspace{kernels::cuda::accumulate_workspace_bytes(70'000), device};
    for (const float bad : {kInfinity, -kInfinity, kNan, 3e38f}) {
        for (const std::size_t place : {0u, 1500u, 65'536u, 69'999u}) {
            const Array<float> gradient{spoilt(70'000, place, bad), device};
            const Flag flag{device};
            kernels::cuda::accumulate(sum, gradient, 1, squares, flag, workspace, device.stream());
            CHECK_FALSE(flag.is_raised());
        }
    }
}

TEST_CASE("a mean of any number of senders has the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const std::size_t senders : {1u, 2u, 7u, 8u, 9u, 64u, 65u, 130u}) {
            if (senders > 9 && count > 5000) continue;
            const std::size_t offset = senders % 2;
            std::vector<Floats> parts;
            std::vector<Array<float>> arrays;
            arrays.reserve(senders);
            for (std::size_t k = 0; k < senders; ++k) {
                parts.push_back(adversarial(Random{count}.split(k), count, 1e36));
                arrays.emplace_back(parts.back(), device, offset);
            }
            const std::vector<std::uint64_t> weights(senders, 3);
            const std::vector<std::span<const float>> views(parts.begin(), parts.end());
            const std::vector<DeviceSpan<const float>> spans(arrays.begin(), arrays.end());
            Floats expected(count);
            kernels::weighted_mean(views, weights, expected);
            const Array<float> out{Floats(count, kNan), device, offset};
            kernels::cuda::weighted_mean(spans, weights, out, device.stream());
            INFO(count << " elements of " << senders << " senders");
            CHECK(different(out.values(), expected) == 0);
        }
    }
}

TEST_CASE("a launcher rounds the samples of a mean to even, however its thread rounds", "[cuda]") {
    Device device;
    const Array<float> part{Floats{3}, device};
    const Array<float> out{Floats{0}, device};
    const std::array<DeviceSpan<const float>, 1> parts{part};
    const std::array<std::uint64_t, 1> weights{(1u << 24) + 1};  // rounds to 2²⁴
    for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(rounding);
        kernels::cuda::weighted_mean(parts, weights, out, device.stream());
        std::fesetround(FE_TONEAREST);
        CHECK(out.values()[0] == 3.0f / 16'777'216.0f);
    }
}

TEST_CASE("norm, clip factor and clipping have the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const std::size_t offset : {0u, 3u}) {
            for (const float limit : {0.0f, 1.0f, 1e38f}) {
                Floats values = adversarial(Random{count}, count, 1e30);
                const Array<float> array{values, device, offset};
                const Scalar<double> squares{device, -1};
                const Scalar<double> norm{device, -1};
                const Scalar<float> factor{device, kNan};
                const Workspace workspace{kernels::cuda::norm_workspace_bytes(count), device};
                kernels::cuda::sum_of_squares(array, squares, workspace, device.stream());
                kernels::cuda::global_norm(array, norm, workspace, device.stream());
                kernels::cuda::clip_factor(norm, limit, factor, device.stream());
                kernels::cuda::clip(array, factor, device.stream());
                INFO(count << " elements, offset " << offset << ", limit " << limit);
                CHECK(same_double(squares.value(), kernels::sum_of_squares(values)));
                const double expected = kernels::global_norm(values);
                CHECK(same_double(norm.value(), expected));
                const float expected_factor = kernels::clip_factor(expected, limit);
                CHECK(same_bits(factor.value(), expected_factor));
                kernels::clip(values, expected_factor);
                CHECK(different(array.values(), values) == 0);
            }
        }
    }
}

TEST_CASE("a sum of squares on a device is finite exactly if every element is", "[cuda]") {
    Device device;
    const Scalar<double> squares{device};
    const Workspace workspace{kernels::cuda::norm_workspace_bytes(2000), device};
    for (const float value : {3.4e38f, kInfinity, -kInfinity, kNan}) {
        const Array<float> array{spoilt(2000, 1999, value), device};
        kernels::cuda::sum_of_squares(array, squares, workspace, device.stream());
        CHECK(std::isfinite(squares.value()) == std::isfinite(value));
        CHECK(std::isnan(squares.value()) == std::isnan(value));
    }
}

TEST_CASE("infinities and NaNs are found anywhere on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        const Flag flag{device};
        const Array<float> good{adversarial(Random{count}, count, 3e38), device, count % 4};
        kernels::cuda::check_finite(good, flag, device.stream());
        CHECK(flag.is_raised());
        for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
            if (count == 0) continue;
            const Array<float> bad{spoilt(count, place, place % 2 == 0 ? -kNan : kInfinity),
                                   device};
            const Flag cleared{device};
            kernels::cuda::check_finite(bad, cleared, device.stream());
            CHECK_FALSE(cleared.is_raised());
            kernels::cuda::check_finite(good, cleared, device.stream());
            CHECK_FALSE(cleared.is_raised());
        }
    }
}
