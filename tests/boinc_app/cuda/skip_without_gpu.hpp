// Test programs that need a real GPU are skipped without one. If DEDLOC_HAS_GPU is set, which says
// that the machine has one, they fail instead. Include it first, in
// one source of the program.
#pragma once

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/training/device_error.hpp"

namespace dedloc::test {

/// The exit status that ctest reports as "skipped".
constexpr int kSkipped = 77;

struct SkipWithoutGpu : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;
    void testRunStarting(const Catch::TestRunInfo&) override {
        try {
            static_cast<void>(device::open_gpu(0));
        } catch (const training::DeviceError& error) {
            const bool must_have_one = std::getenv("DEDLOC_HAS_GPU") != nullptr;
            std::printf("%s: this machine has no GPU that can train: %s\n",
                        must_have_one ? "failed" : "skipped", error.what());
            std::exit(must_have_one ? 1 : kSkipped);
        }
    }
};

CATCH_REGISTER_LISTENER(SkipWithoutGpu)

}  // namespace dedloc::test
