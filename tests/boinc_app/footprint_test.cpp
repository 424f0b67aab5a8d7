// The size of a micro-batch follows from model and machine.
#include "boinc_app/training/footprint.hpp"

#include <catch2/catch.hpp>

#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training {
namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

formats::RunFile albert_large() {
    return test::tiny_run({.vocabulary = 30'000,
                           .width = 1'024,
                           .layers = 24,
                           .length = 512,
                           .embedding = 128,
                           .heads = 16});
}

TEST_CASE("a micro-batch is as large as the time of an answer and the memory allow", "[training]") {
    const auto of = [](const formats::RunFile& run, unsigned threads, std::uint64_t memory) {
        return suitable_micro_batch(run, {.threads = threads, .memory_bytes = memory});
    };
    const formats::RunFile small =
        test::tiny_run({.vocabulary = 8'000, .width = 128, .length = 64});
    CHECK(of(small, 1, 8 * kGigabyte) > 4);
    CHECK(of(small, 2, 8 * kGigabyte) > of(small, 1, 8 * kGigabyte));
    CHECK(of(small, 64, kGigabyte / 16) < of(small, 64, 64 * kGigabyte));
    CHECK(of(small, 64, 0) == 1);
    CHECK(of(test::tiny_run(), 64, 64 * kGigabyte) == 64);
    CHECK(of(albert_large(), 1, 64 * kGigabyte) == 1);
    // A sample takes seconds on many cores too.
    CHECK(of(albert_large(), 64, 64 * kGigabyte) == 1);
}

TEST_CASE("one line says which vectors a trainer holds", "[training]") {
    formats::RunFile run = albert_large();
    CHECK_THAT(memory_line(run, 1, 2),
               Catch::StartsWith("17847474 parameters: a vector has 71.4 MB; a trainer holds 5 "
                                 "(state 3, sum 1, average 1), and 2 averages for peers that are "
                                 "behind; micro-batches of 1 need about "));
    run.codec = Codec::kFp16;
    CHECK_THAT(memory_line(run, 1, 0), Catch::Contains("holds 6 (state 3, sum 1, average 1, "
                                                       "residual 1); micro-batches of 1"));
}

}  // namespace
}  // namespace dedloc::training
