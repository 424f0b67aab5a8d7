// The choice of a device, and the way to a GPU: each obstacle is one sentence with its own type.
// The drivers here are small libraries that answer as a driver would (played_driver.c).
#include "boinc_app/device/gpu.hpp"
#include "boinc_app/albert/albert_task.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

#include "boinc_app/cuda/cuda_failure.hpp"
#include "boinc_app/training/device_error.hpp"
#include "kernels/thread_workers.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::device {
namespace {

using training::DeviceError;
using training::DeviceFailure;
using Kind = Choice::Kind;

/// A driver whose answers are in its name: version, result of cuInit, number of GPUs.
std::string driver(const std::string& name) {
    return std::string{DEDLOC_PLAYED_DRIVERS} + "/libplayed_driver_" + name + ".so";
}

struct Obstacle {
    DeviceFailure failure;
    std::string sentence;
};

Obstacle obstacle(unsigned index, const GpuLibraries& libraries) {
    try {
        static_cast<void>(open_gpu(index, libraries));
    } catch (const DeviceError& error) {
        return {error.failure(), error.what()};
    }
    FAIL("the GPU was opened");
    return {};
}

TEST_CASE("a device is the processor, a GPU by its number, or chosen automatically", "[boinc]") {
    CHECK(parse_choice("cpu") == Choice{Kind::kProcessor, 0});
    CHECK(parse_choice("cuda") == Choice{Kind::kGpu, 0});
    CHECK(parse_choice("cuda:0") == Choice{Kind::kGpu, 0});
    CHECK(parse_choice("cuda:13") == Choice{Kind::kGpu, 13});
    CHECK(parse_choice("auto") == Choice{Kind::kAutomatic, 0});
    for (const char* const text : {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:+1", "cuda:1 ",
                                   "cuda: 1", "cuda:x", "cuda:64", "cuda:99999999999", "cpu:0"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_choice(text));
    }
}

TEST_CASE("each obstacle that the driver reports is one sentence with its own type", "[boinc]") {
    const auto missing = obstacle(0, {.driver = "libno_such_driver.so.1"});
    CHECK(missing.failure == DeviceFailure::kNoDriver);
    CHECK_THAT(missing.sentence,
               Catch::StartsWith("this machine has no NVIDIA driver that can be loaded: "
                                 "libno_such_driver.so.1"));
    const auto old = obstacle(0, {.driver = driver("12040_0_1")});
    CHECK(old.failure == DeviceFailure::kDriverTooOld);
    CHECK(old.sentence ==
          "the NVIDIA driver is too old: it supports CUDA 12.4, and 13.0 is needed");
    const auto broken = obstacle(0, {.driver = driver("13000_999_1")});
    CHECK(broken.failure == DeviceFailure::kNoDriver);
    CHECK(broken.sentence == "the NVIDIA driver does not start (error 999)");
    for (const char* const none : {"13000_100_0", "13000_0_0"}) {
        const auto no_gpu = obstacle(0, {.driver = driver(none)});
        CHECK(no_gpu.failure == DeviceFailure::kNoDevice);
        CHECK(no_gpu.sentence == "the NVIDIA driver finds no GPU");
    }
    const auto wrong_number = obstacle(2, {.driver = driver("13010_0_2")});
    CHECK(wrong_number.failure == DeviceFailure::kNoDevice);
    CHECK(wrong_number.sentence == "there is no GPU 2: this machine has 2, counted from 0");
    const auto empty = obstacle(0, {.driver = "libm.so.6"});
    CHECK(empty.failure == DeviceFailure::kNoDriver);
    CHECK(empty.sentence == "libm.so.6 has no function cuDriverGetVersion");
}

TEST_CASE("missing or foreign CUDA libraries are one sentence", "[boinc]") {
    const std::string good = driver("13010_0_2");
    const auto no_torch = obstacle(0, {.driver = good, .torch = "libno_torch_cuda.so"});
    CHECK(no_torch.failure == DeviceFailure::kNoLibraries);
    CHECK_THAT(
        no_torch.sentence,
        Catch::StartsWith("libtorch's CUDA libraries are not complete: libno_torch_cuda.so"));
    const auto no_plugin =
        obstacle(0, {.driver = good, .torch = "libm.so.6", .plugin = "libno_plugin.so"});
    CHECK(no_plugin.failure == DeviceFailure::kNoLibraries);
    CHECK_THAT(no_plugin.sentence,
               Catch::StartsWith("the CUDA half of this program is missing: libno_plugin.so"));
    const auto foreign = obstacle(0, {.driver = good, .torch = "libm.so.6", .plugin = good});
    CHECK(foreign.failure == DeviceFailure::kNoLibraries);
    CHECK_THAT(foreign.sentence, Catch::EndsWith("has no function dedloc_accelerator_version"));
    const auto older = obstacle(
        0, {.driver = good, .torch = "libm.so.6", .plugin = driver("plugin_of_version_0")});
    CHECK(older.failure == DeviceFailure::kNoLibraries);
    CHECK_THAT(older.sentence,
               Catch::EndsWith(fmt::format("is of another version of this program (0, not {})",
                                           training::kAcceleratorVersion)));
}

TEST_CASE("an automatic choice falls back to the processor, a wanted GPU does not", "[boinc]") {
    const formats::RunFile run = test::tiny_run();
    const training::albert::AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    std::optional<Obstacle> real;  // what the driver of this machine says
    try {
        static_cast<void>(make_compute({Kind::kGpu, 63}, run, task, workers, {.threads = 1}));
    } catch (const DeviceError& error) {
        real = {error.failure(), error.what()};
    }
    REQUIRE(real);
    const bool has_no_gpu = real->failure == DeviceFailure::kNoDriver ||
                            real->failure == DeviceFailure::kDriverTooOld ||
                            real->failure == DeviceFailure::kNoDevice;
    CAPTURE(real->sentence);
    CHECK(has_no_gpu);
    const Compute compute =
        make_compute({Kind::kAutomatic, 63}, run, task, workers, {.threads = 3});
    CHECK(compute.replica != nullptr);
    CHECK_FALSE(compute.device.gpu);
    CHECK(compute.name == "the processor, 3 threads");
}

TEST_CASE("a processor's precision is chosen by its name, or by a trial", "[boinc]") {
    Choice choice;
    CHECK(choice.precision == training::Precision::kFp32);
    CHECK(set_precision(choice, "auto"));
    CHECK_FALSE(choice.precision);
    CHECK(set_precision(choice, "fp32"));
    CHECK(choice.precision == training::Precision::kFp32);
    for (const char* const unknown : {"", "fp16", "BF16", "bf16 "}) {
        CHECK_FALSE(set_precision(choice, unknown));
    }
    CHECK(set_precision(choice, "bf16"));
    CHECK(choice.precision == training::Precision::kBf16);
    const formats::RunFile run = test::tiny_run();
    const training::albert::AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    const Compute compute = make_compute(choice, run, task, workers, {.threads = 1});
    CHECK(compute.device.computation.precision == training::Precision::kBf16);
    CHECK_THAT(compute.name, Catch::StartsWith("the processor, 1 thread, bf16 (2 layers take "));
}

TEST_CASE("a run that only processors train is not tried on a GPU", "[boinc]") {
    const formats::RunFile run = test::tiny_run();
    const training::albert::AlbertTask task{run, {test::skewed_shard(run, 1)}};
    const kernels::ThisThread workers;
    formats::RunFile module = run;
    module.model = formats::ModuleSpec{.name = "net.pt",
                                       .digest = {},
                                       .bytes = 1,
                                       .vocabulary = 0,
                                       .inputs = {},
                                       .flops = 1,
                                       .sample_bytes = 1};
    CHECK(make_compute({Kind::kAutomatic, 0}, module, task, workers, {.threads = 2}).name ==
          "the processor, 2 threads");
    CHECK_THROWS_WITH(make_compute({Kind::kGpu, 0}, module, task, workers, {.threads = 2}),
                      "this kind of network is trained on processors only");
}

TEST_CASE("error codes of the CUDA runtime have their types", "[boinc]") {
    using training::failure_of_cuda;
    CHECK(failure_of_cuda(2) == DeviceFailure::kOutOfMemory);
    CHECK(failure_of_cuda(35) == DeviceFailure::kDriverTooOld);
    CHECK(failure_of_cuda(100) == DeviceFailure::kNoDevice);
    CHECK(failure_of_cuda(101) == DeviceFailure::kNoDevice);
    CHECK(failure_of_cuda(802) == DeviceFailure::kNoDriver);
    CHECK(failure_of_cuda(719) == DeviceFailure::kLost);
    CHECK(failure_of_cuda(999) == DeviceFailure::kLost);
}

}  // namespace
}  // namespace dedloc::device
