// Launchers refuse the same misuse as host kernels, in the same sentences, and misuse that concerns
// only devices.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/cuda/unit_rows.hpp"
#include "kernels/lanes.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/cuda/device.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

bool refuses(const char* words, const std::function<void()>& misuse) {
    return abort_message(misuse).find(words) != std::string::npos;
}

constexpr std::size_t kA = 4096;
constexpr std::size_t kB = 8192;
constexpr std::size_t kC = 16'384;
constexpr std::size_t kD = 32'768;
constexpr std::size_t kE = 65'536;
constexpr std::size_t kF = 131'072;

const auto kWorkspace = at<std::byte>(1 << 20, 4096);

}  // namespace

TEST_CASE("norm and finite check on a device refuse misuse", "[cuda]") {
    Device device;
    const auto norm = [&](DeviceSpan<const float> values, DeviceSpan<double> result,
                          DeviceSpan<std::byte> workspace) {
        return [&device, values, result, workspace] {
            kernels::cuda::global_norm(values, result, workspace, device.stream());
        };
    };
    const DeviceSpan<const float> values = at<float>(kA, 8);
    const auto result = at<double>(kC, 1);
    CHECK(refuses("workspace is too small", norm(values, result, at<std::byte>(kE, 7))));
    CHECK(refuses("workspace overlaps", norm(values, result, at<std::byte>(kA, 4096))));
    CHECK(refuses("multiple of 8", norm(values, result, at<std::byte>(kE + 4, 8))));
    CHECK(refuses("place for one number", norm(values, at<double>(kC, 2), kWorkspace)));
    CHECK(refuses("more elements than a reduction",
                  norm(at<float>(kA, kernels::kMaxElements + 1), result, kWorkspace)));
    CHECK(refuses("a flag is one word",
                  [&] { kernels::cuda::check_finite(values, {}, device.stream()); }));
}

TEST_CASE("optimizers on a device refuse misuse", "[cuda]") {
    Device device;
    const auto a = at<float>(kA, 8);
    const auto b = at<float>(kB, 8);
    const auto c = at<float>(kC, 8);
    const auto d = at<float>(kD, 8);
    const kernels::LambScalars good{.element = {.epsilon = 1e-6f}};
    const kernels::cuda::DeviceTable table{.segments = at<const kernels::TensorSegment>(kE, 1),
                                           .tensors = at<const kernels::TensorSegments>(kF, 1),
                                           .end = 8};
    const auto lamb = [&](DeviceSpan<float> p, const kernels::LambScalars& scalars,
                          DeviceSpan<std::byte> workspace) {
        return [=, &device] {
            kernels::cuda::lamb({p, b, c, d}, table, scalars, {}, workspace, device.stream());
        };
    };
    const auto sgd = [&](const kernels::cuda::DeviceTable& on, const kernels::SgdScalars& scalars,
                         DeviceSpan<float> rates) {
        return [=, &device] {
            kernels::cuda::sgd({a, b, c}, on, scalars, rates, kWorkspace, device.stream());
        };
    };
    kernels::LambScalars bad = good;
    bad.element.epsilon = 0;
    CHECK(refuses("one length", lamb(at<float>(kA, 7), good, kWorkspace)));
    CHECK(refuses("overlap", lamb(b, good, kWorkspace)));
    CHECK(refuses("epsilon must be positive", lamb(a, bad, kWorkspace)));
    CHECK(refuses("workspace overlaps", lamb(a, good, at<std::byte>(kC, 4096))));
    CHECK(refuses("workspace overlaps", lamb(a, good, at<std::byte>(kE, 4096))));
    CHECK(refuses("workspace is too small", lamb(a, good, at<std::byte>(1 << 20, 19))));
    kernels::cuda::DeviceTable longer = table;
    longer.end = 9;
    CHECK(refuses("beyond the end", sgd(longer, {}, {})));
    CHECK(refuses("must not be negative", sgd(table, {.trust = -1}, {})));
    CHECK(refuses("a place for the result", sgd(table, {}, at<float>(kD, 2))));
    const auto rows = [&](const kernels::cuda::DeviceTable& on, DeviceSpan<std::byte> workspace) {
        return [=, &device] { kernels::cuda::unit_rows(a, on, workspace, device.stream()); };
    };
    CHECK(refuses("beyond the end", rows(longer, kWorkspace)));
    CHECK(refuses("workspace is too small", rows(table, at<std::byte>(1 << 20, 15))));
    CHECK(refuses("workspace overlaps", rows(table, at<std::byte>(kA, 4096))));
    CHECK(refuses("the default stream", [] {
        CUstream_st* const none = nullptr;
        static_cast<void>(StreamView{none});
    }));
}
