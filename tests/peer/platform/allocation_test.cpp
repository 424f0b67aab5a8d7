#include "peer/platform/allocation.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <thread>

namespace {

constexpr std::size_t kBytes = 36'000'000;
constexpr std::size_t kPage = 4'096;

/// Page faults of this thread while it writes to a block of kBytes.
long pages_taken() {
    const auto count = [] {
        rusage usage{};
        getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_minflt;
    };
    const long before = count();
    const auto block = std::make_unique_for_overwrite<std::byte[]>(kBytes);
    volatile std::byte* const bytes = block.get();
    for (std::size_t at = 0; at < kBytes; at += kPage) bytes[at] = std::byte{1};
    return count() - before;
}

}  // namespace

// This test is a program of its own, because the setting belongs to the process.
TEST_CASE("a freed block is reused by any thread without new page faults", "[net]") {
    dedloc::platform::keep_freed_memory();
    long first = 0;
    long others = 0;
    std::thread{[&] { first = pages_taken(); }}.join();
    for (int k = 0; k < 5; ++k) std::thread{[&] { others += pages_taken(); }}.join();
    CHECK(first > 0);
    CHECK(others < 100);
}
