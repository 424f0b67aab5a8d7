// Sums on a device have the same bits as on the host.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/global_norm.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

using Floats = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A row with infinities and NaNs at a few positions.
Floats spoilt(std::size_t count, std::size_t place, float value) {
    Floats values(count, 1.0f);
    values.at(place) = value;
    return values;
}

}  // namespace

TEST_CASE("a norm has the host's bits on a device", "[cuda]") {
    Device device;
    for (const std::size_t count : device_sizes()) {
        for (const std::size_t offset : {0u, 3u}) {
            const Floats values = adversarial(Random{count}, count, 1e30);
            const Array<float> array{values, device, offset};
            const Scalar<double> norm{device, -1};
            const Workspace workspace{kernels::cuda::norm_workspace_bytes(count), device};
            kernels::cuda::global_norm(array, norm, workspace, device.stream());
            INFO(count << " elements, offset " << offset);
            CHECK(same_double(norm.value(), kernels::global_norm(values)));
        }
    }
}

TEST_CASE("a norm on a device is finite exactly if every element is", "[cuda]") {
    Device device;
    const Scalar<double> norm{device};
    const Workspace workspace{kernels::cuda::norm_workspace_bytes(2000), device};
    for (const float value : {3.4e38f, kInfinity, -kInfinity, kNan}) {
        const Array<float> array{spoilt(2000, 1999, value), device};
        kernels::cuda::global_norm(array, norm, workspace, device.stream());
        CHECK(std::isfinite(norm.value()) == std::isfinite(value));
        CHECK(std::isnan(norm.value()) == std::isnan(value));
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
