// The real plug-in on a machine whose driver cannot be used: a driver that is only played lets the
// program come as far as the CUDA runtime, which then says in one sentence what is wrong.
#include <catch2/catch.hpp>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/training/device_error.hpp"

namespace dedloc::device {
namespace {

using training::DeviceError;
using training::DeviceFailure;

/// Number 63 exists for the played driver alone, on a machine with GPUs too.
DeviceError error_of(const std::string& torch) {
    try {
        static_cast<void>(
            open_gpu(63, {.driver = DEDLOC_PLAYED_DRIVERS "/libplayed_driver_13010_0_64.so",
                          .torch = torch,
                          .plugin = DEDLOC_PLUGIN}));
    } catch (const DeviceError& error) {
        CHECK(std::string{error.what()}.find('\n') == std::string::npos);
        return error;
    }
    FAIL("GPU 63 was opened");
    std::abort();
}

void check_runtime_refused(const DeviceError& error) {
    CAPTURE(error.what());
    const bool is_expected = error.failure() == DeviceFailure::kDriverTooOld ||
                             error.failure() == DeviceFailure::kNoDevice ||
                             error.failure() == DeviceFailure::kNoDriver;
    CHECK(is_expected);
    CHECK_THAT(error.what(),
               Catch::StartsWith("GPU 63 cannot be used: starting the device failed"));
}

TEST_CASE("the plug-in loads on each machine, and its errors arrive with their types", "[boinc]") {
    // The part of libtorch's CUDA half that the plug-in itself needs, which is unpacked everywhere.
    check_runtime_refused(error_of("libc10_cuda.so"));
}

TEST_CASE("the plug-in loads beside libtorch's whole CUDA half, or a sentence says what lacks",
          "[boinc]") {
    const DeviceError error = error_of("libtorch_cuda.so");
    if (error.failure() == DeviceFailure::kNoLibraries) {
        // ./setup unpacks the other libraries where there is a driver, or with --cuda.
        CHECK_THAT(error.what(),
                   Catch::StartsWith("libtorch's CUDA libraries are not complete: lib") &&
                       Catch::Contains("cannot open shared object file"));
        return;
    }
    check_runtime_refused(error);
}

}  // namespace
}  // namespace dedloc::device
