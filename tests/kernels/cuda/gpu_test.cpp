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
#include "tests/kernels/cuda/stopwatch.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::kernels::cuda;

namespace {

/// The exit status that ctest reports as "skipped".
constexpr int kSkipped = 77;

struct SkipWithoutGpu : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;
    void testRunStarting(const Catch::TestRunInfo&) override {
        if (tests::device_count() > 0) return;
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
    const tests::Stopwatch never_started;
    never_started.stop(stream);
    try {
        static_cast<void>(never_started.milliseconds());
        FAIL("time since an event that never was");
    } catch (const CudaError& error) {
        CHECK(error.call() == "cudaEventElapsedTime");
        CHECK(error.code() != 0);
        CHECK(std::string{error.what()}.find("measuring time failed") == 0);
    }
    CHECK(there_and_back(counted(10), stream) == counted(10));
}

TEST_CASE("an event happens after all work enqueued before it", "[cuda]") {
    const Stream first;
    const Stream second;
    constexpr std::size_t kCount = 50'000'000;
    const DeviceBuffer<float> values{kCount, first};
    const DeviceBuffer<float> copies{kCount, first};
    const auto bytes_of = [](const DeviceBuffer<float>& buffer) {
        return DeviceSpan<std::byte>{
            static_cast<std::byte*>(static_cast<void*>(buffer.span().data())), 4 * kCount};
    };
    const auto last_of = [](const DeviceBuffer<float>& buffer) {
        return DeviceSpan<float>{buffer.span().data() + kCount - 1, 1};
    };
    clear_bytes(bytes_of(values), first);
    const std::vector<float> last{0.25f};
    upload<float>(last, last_of(values), first);
    const Event written;
    const tests::Stopwatch stopwatch;
    stopwatch.start(first);
    for (int i = 0; i < 20; ++i) {
        copy_bytes(bytes_of(values).addresses(), bytes_of(copies).addresses(), first);
    }
    stopwatch.stop(first);
    written.record(first);
    written.wait();
    std::vector<float> seen(1);
    download<float>(last_of(copies), seen, second);
    second.view().wait();
    CHECK(seen == last);
    CHECK(stopwatch.milliseconds() > 0);
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
