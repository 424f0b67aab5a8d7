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

Device gpu(unsigned multiprocessors, unsigned capability, std::uint64_t free_bytes) {
    return {.threads = 4,
            .memory_bytes = 16 * kGigabyte,
            .gpu = GpuProperties{.name = "a GPU",
                                 .multiprocessors = multiprocessors,
                                 .capability = capability,
                                 .memory_bytes = 80 * kGigabyte,
                                 .free_memory_bytes = free_bytes},
            .computation = {.cuda = 0,
                            .precision = capability >= 80 ? Precision::kBf16 : Precision::kFp16,
                            .fuses_attention = true}};
}

TEST_CASE("a GPU's micro-batch follows from its multiprocessors and its free memory",
          "[training]") {
    formats::RunFile run = albert_large();
    run.target_batch = 4096;
    const std::uint64_t of_h100 = suitable_micro_batch(run, gpu(132, 90, 70 * kGigabyte));
    const std::uint64_t of_3090 = suitable_micro_batch(run, gpu(82, 86, 20 * kGigabyte));
    const std::uint64_t of_2080 = suitable_micro_batch(run, gpu(68, 75, 9 * kGigabyte));
    CAPTURE(of_h100, of_3090, of_2080);
    CHECK(of_h100 > of_3090);
    CHECK(of_3090 > of_2080);
    CHECK(of_2080 >= 2);
    CHECK(of_h100 <= 256);
    // With little memory, one sample at a time; it may still not fit, which is an error then.
    CHECK(suitable_micro_batch(run, gpu(132, 90, kGigabyte)) == 1);
    CHECK(suitable_micro_batch(run, gpu(132, 90, 0)) == 1);
    CHECK(suitable_micro_batch(run, gpu(132, 90, 8 * kGigabyte)) < of_h100);
    // A small model's is a part of the target batch.
    formats::RunFile tiny = test::tiny_run();
    for (const auto& [target, expected] :
         {std::pair{1ULL, 1ULL}, {100ULL, 25ULL}, {4096ULL, 1024ULL}, {1'000'000ULL, 2048ULL}}) {
        tiny.target_batch = target;
        CHECK(suitable_micro_batch(tiny, gpu(132, 90, 70 * kGigabyte)) == expected);
    }
    // Fused attention in half precision needs much less than fp32 with attention's weights.
    const Computation half{.cuda = 0, .precision = Precision::kBf16, .fuses_attention = true};
    CHECK(2 * activation_bytes(run, half) < activation_bytes(run));
    CHECK(micro_batch_bytes(run, half) > micro_batch_bytes(run));
}

TEST_CASE("one line says which vectors a trainer holds", "[training]") {
    formats::RunFile run = albert_large();
    CHECK_THAT(memory_line(run, 1, 2),
               Catch::StartsWith("17847474 parameters: a vector has 71.4 MB; a trainer holds 5 "
                                 "(state 3, sum 1, average 1), and 2 averages for peers that are "
                                 "behind; micro-batches of 1 need about "));
    CHECK_THAT(memory_line(run, 1, 2),
               Catch::EndsWith("a copy of the state, to save it or for peers, has 214.2 MB"));
    run.codec = Codec::kFp16;
    CHECK_THAT(memory_line(run, 1, 0), Catch::Contains("holds 6 (state 3, sum 1, average 1, "
                                                       "residual 1); micro-batches of 1"));
    CHECK_THAT(memory_line(run, 8, 0, gpu(132, 90, 70 * kGigabyte)),
               Catch::Contains("a trainer holds 3 (sum 1, average 1, residual 1); its GPU holds 5 "
                               "(state 3, sum 1, average 1); micro-batches of 8 need about "));
}

}  // namespace
}  // namespace dedloc::training
