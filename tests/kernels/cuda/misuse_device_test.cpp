// Launchers refuse the same misuse as host kernels, in the same sentences, and misuse that concerns
// only devices.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "kernels/cuda/accumulate.hpp"
#include "kernels/cuda/dequantize.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/cuda/weighted_mean.hpp"
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
const auto kFlag = at<std::uint32_t>(kD, 1);

}  // namespace

TEST_CASE("accumulate on a device refuses misuse", "[cuda]") {
    Device device;
    const auto with = [&](DeviceSpan<const float> gradient, float scale,
                          DeviceSpan<std::byte> workspace, kernels::cuda::DeviceFlag flag) {
        return [&device, gradient, scale, workspace, flag] {
            kernels::cuda::accumulate(at<float>(kA, 8), gradient, scale, at<double>(kC, 1), flag,
                                      workspace, device.stream());
        };
    };
    const DeviceSpan<const float> good = at<float>(kB, 8);
    CHECK(refuses("another length", with(at<float>(kB, 7), 1, kWorkspace, kFlag)));
    CHECK(refuses("must be finite", with(good, INFINITY, kWorkspace, kFlag)));
    CHECK(refuses("overlaps its sum", with(at<float>(kA + 4, 8), 1, kWorkspace, kFlag)));
    CHECK(refuses("workspace is too small", with(good, 1, kWorkspace.first(7), kFlag)));
    CHECK(refuses("workspace overlaps", with(good, 1, at<std::byte>(kB, 4096), kFlag)));
    CHECK(refuses("multiple of 8", with(good, 1, kWorkspace.subspan(4, 8), kFlag)));
    CHECK(refuses("a flag is one word", with(good, 1, kWorkspace, {})));
    CHECK(refuses("more elements than a reduction", [&] {
        const std::size_t count = kernels::kMaxElements + 1;
        kernels::cuda::sum_of_squares(at<float>(kA, count), at<double>(kC, 1), kWorkspace,
                                      device.stream());
    }));
}

TEST_CASE("a mean on a device refuses misuse", "[cuda]") {
    Device device;
    const auto with = [&](std::vector<DeviceSpan<const float>> parts,
                          std::vector<std::uint64_t> weights) {
        return [&device, parts, weights] {
            kernels::cuda::weighted_mean(parts, weights, at<float>(kA, 8), device.stream());
        };
    };
    const DeviceSpan<const float> part = at<float>(kB, 8);
    CHECK(refuses("at least one part", with({}, {})));
    CHECK(refuses("needs its weight", with({part}, {})));
    CHECK(refuses("add up to zero", with({part}, {0})));
    CHECK(refuses("overflow", with({part, part}, {~std::uint64_t{0}, 1})));
    CHECK(refuses("another length", with({part.first(7)}, {1})));
    CHECK(refuses("the mean overlaps", with({at<float>(kA, 8)}, {1})));
}

TEST_CASE("codecs on a device refuse misuse", "[cuda]") {
    using kernels::Half;
    Device device;
    const DeviceSpan<const float> values = at<float>(kA, 65);
    const auto codes = at<std::int8_t>(kB, 65);
    const auto exponents = at<std::uint8_t>(kC, 2);
    CHECK(refuses("another length", [&] {
        kernels::cuda::quantize(values, at<Half>(kB, 64), kFlag, device.stream());
    }));
    CHECK(refuses("overlap", [&] {
        kernels::cuda::quantize(values, at<Half>(kA + 64, 65), kFlag, device.stream());
    }));
    CHECK(refuses("every 64 codes", [&] {
        kernels::cuda::quantize(values, {codes, exponents.first(1)}, kFlag, device.stream());
    }));
    CHECK(refuses("every value needs its error", [&] {
        kernels::cuda::quantize_with_feedback(values, at<float>(kD, 64), {codes, exponents}, kFlag,
                                              device.stream());
    }));
    CHECK(refuses("another length than the encoded", [&] {
        kernels::cuda::dequantize({codes, exponents}, at<float>(kD, 64), kFlag, device.stream());
    }));
    CHECK(refuses("overlaps the encoded", [&] {
        kernels::cuda::dequantize({codes, exponents}, at<float>(kB, 65), kFlag, device.stream());
    }));
}

TEST_CASE("optimizers and clipping on a device refuse misuse", "[cuda]") {
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
                          DeviceSpan<const float> clip, DeviceSpan<std::byte> workspace) {
        return [=, &device] {
            kernels::cuda::lamb({p, b, c, d}, table, scalars, clip, {}, workspace, device.stream());
        };
    };
    const auto sgd = [&](const kernels::cuda::DeviceTable& on, const kernels::SgdScalars& scalars,
                         DeviceSpan<float> rates) {
        return [=, &device] {
            kernels::cuda::sgd({a, b, c}, on, scalars, {}, rates, kWorkspace, device.stream());
        };
    };
    kernels::LambScalars bad = good;
    bad.element.epsilon = 0;
    CHECK(refuses("one length", lamb(a.first(7), good, {}, kWorkspace)));
    CHECK(refuses("overlap", lamb(b, good, {}, kWorkspace)));
    CHECK(refuses("epsilon must be positive", lamb(a, bad, {}, kWorkspace)));
    CHECK(refuses("place for one number", lamb(a, good, at<float>(kD, 2), kWorkspace)));
    CHECK(refuses("workspace overlaps", lamb(a, good, {}, at<std::byte>(kC, 4096))));
    CHECK(refuses("workspace overlaps", lamb(a, good, {}, at<std::byte>(kE, 4096))));
    CHECK(refuses("workspace is too small", lamb(a, good, {}, kWorkspace.first(19))));
    kernels::cuda::DeviceTable longer = table;
    longer.end = 9;
    CHECK(refuses("beyond the end", sgd(longer, {}, {})));
    CHECK(refuses("must not be negative", sgd(table, {.trust = -1}, {})));
    CHECK(refuses("a place for the result", sgd(table, {}, at<float>(kD, 2))));
    CHECK(refuses("lies among the values",
                  [&] { kernels::cuda::clip(a, at<float>(kA, 1), device.stream()); }));
    CHECK(refuses("must be finite and positive", [&] {
        kernels::cuda::clip_factor(at<double>(kA, 1), -1, at<float>(kB, 1), device.stream());
    }));
    CHECK(refuses("the default stream", [] {
        CUstream_st* const none = nullptr;
        static_cast<void>(StreamView{none});
    }));
}
