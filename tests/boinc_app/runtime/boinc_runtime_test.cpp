// The standalone runtime, and the stack size of threads.
#include "boinc_app/runtime/boinc_runtime.hpp"

#include <pthread.h>

#include <catch2/catch.hpp>

namespace dedloc::runtime {
namespace {

TEST_CASE(
    "a thread with the stack size that BOINC's API requests starts in a process with libtorch",
    "[boinc]") {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, 32'768) == 0);
    pthread_t thread{};
    REQUIRE(pthread_create(
                &thread, &attributes, [](void*) -> void* { return nullptr; }, nullptr) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

TEST_CASE("outside BOINC file names are paths and all CPUs are granted", "[boinc]") {
    const auto runtime = make_standalone_runtime(0);
    CHECK(runtime->resolve("run.json") == "run.json");
    CHECK(runtime->granted_cpus() >= 1);
    CHECK(runtime->wish() == HostWish{});
    CHECK(make_standalone_runtime(3)->granted_cpus() == 3);
}

}  // namespace
}  // namespace dedloc::runtime
