// Cases that need a GPU: its memory, streams and errors. Linked with the cases of the device
// kernels. Without a GPU the program is skipped; with DEDLOC_HAS_GPU in the environment, which says
// that the machine has one, it fails and reports the error of the driver.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "kernels/cuda/error.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/global_norm.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::kernels::cuda;

namespace {

/// The exit status that ctest reports as "skipped".
constexpr int kSkipped = 77;

struct SkipWithoutGpu : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;
    void testRunStarting(const Catch::TestRunInfo&) override {
        if (device_count() > 0) return;
        if (std::getenv("DEDLOC_HAS_GPU") == nullptr) {
            std::puts("skipped: this machine has no GPU that CUDA can use");
            std::exit(kSkipped);
        }
        try {
            const Stream probe;
        } catch (const std::exception& error) {
            std::printf("failed: this machine has a GPU that CUDA cannot use: %s\n", error.what());
        }
        std::exit(1);
    }
};

CATCH_REGISTER_LISTENER(SkipWithoutGpu)

std::vector<float> counted(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
}

/// Copies to the device and back.
std::vector<float> there_and_back(const std::vector<float>& values, StreamView stream) {
    const DeviceBuffer<float> buffer{values.size(), stream};
    std::vector<float> back(values.size());
    upload<float>(values, buffer, stream);
    download<float>(buffer, back, stream);
    stream.wait();
    return back;
}

/// Sizes beyond any device's memory, and beyond the address space.
constexpr std::size_t kTooMuch = std::size_t{1} << 50;

}  // namespace

TEST_CASE("data copied to a device and back is unchanged", "[cuda]") {
    const Stream stream;
    for (const std::size_t count : {0u, 1u, 1000u, 3'000'000u}) {
        CHECK(there_and_back(counted(count), stream) == counted(count));
    }
    const PinnedBuffer<float> pinned{1000};
    const auto values = counted(1000);
    const DeviceBuffer<float> buffer{1000, stream};
    std::copy(values.begin(), values.end(), pinned.span().begin());
    upload<float>(pinned.span(), buffer, stream);
    std::vector<float> back(1000);
    download<float>(buffer, back, stream);
    stream.view().wait();
    CHECK(back == values);
}

TEST_CASE("running out of memory has its own error type and leaves the device usable", "[cuda]") {
    const Stream stream;
    for (int attempt = 0; attempt < 3; ++attempt) {
        CHECK_THROWS_AS((DeviceBuffer<float>{kTooMuch / 4, stream}), CudaOutOfMemory);
        CHECK(there_and_back(counted(1000), stream) == counted(1000));
    }
    CHECK_THROWS_AS(PinnedBuffer<std::byte>{kTooMuch}, CudaOutOfMemory);
    const DeviceBuffer<float> values{1000, stream};
    upload<float>(counted(1000), values, stream);
    const DeviceBuffer<std::uint32_t> flag{1, stream};
    raise_flag(flag, stream);
    check_finite(values, flag, stream);
    std::vector<std::uint32_t> word(1);
    download<std::uint32_t>(flag, word, stream);
    stream.view().wait();
    CHECK(word[0] != 0);
}

TEST_CASE("a failed call reports its purpose and leaves no sticky error", "[cuda]") {
    const Stream stream;
    const Event never;
    const Event recorded;
    recorded.record(stream);
    recorded.wait();
    try {
        static_cast<void>(recorded.milliseconds_since(never));
        FAIL("time since an event that never was");
    } catch (const CudaError& error) {
        CHECK(error.call() == "cudaEventElapsedTime");
        CHECK(error.code() != 0);
        CHECK(std::string{error.what()}.find("measuring time failed") == 0);
    }
    CHECK(there_and_back(counted(10), stream) == counted(10));
}

TEST_CASE("a stream waits for another's event, and events measure time", "[cuda]") {
    const Stream first;
    const Stream second;
    constexpr std::size_t kCount = 50'000'000;
    const DeviceBuffer<float> values{kCount, first};
    const DeviceBuffer<float> factor{1, first};
    const std::vector<float> twice{2.0f};
    const Event begun;
    const Event written;
    upload<float>(twice, factor, first);
    clear_bytes({static_cast<std::byte*>(static_cast<void*>(values.span().data())), 4 * kCount},
                first);
    begun.record(first);
    const auto last = std::vector<float>(1, 0.25f);
    upload<float>(last, values.span().subspan(kCount - 1, 1), first);
    for (int i = 0; i < 20; ++i) clip(values, factor, first);
    written.record(first);
    written.hold(second);
    std::vector<float> seen(1);
    download<float>(values.span().subspan(kCount - 1, 1), seen, second);
    second.view().wait();
    CHECK(seen[0] == 0.25f * 0x1p20f);
    CHECK(written.milliseconds_since(begun) > 0);
    first.view().wait();
}

TEST_CASE("a device sums more than two gigabytes as the host does", "[cuda][.slow]") {
    tests::Device device;
    constexpr std::size_t kCount = 600'000'003;
    const auto values = tests::ordinary(Random{1}, kCount);
    const tests::Array<float> array{values, device};
    const tests::Scalar<double> norm{device};
    const tests::Workspace workspace{norm_workspace_bytes(kCount), device};
    global_norm(array, norm, workspace, device.stream());
    CHECK(tests::same_double(norm.value(), kernels::global_norm(values)));
}
