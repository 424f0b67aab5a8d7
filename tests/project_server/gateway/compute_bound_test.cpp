// The bound of a computer's samples per second, from true and false reports of its BOINC client.
#include "project_server/gateway/compute_bound.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "peer/formats/albert_layout.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::gateway {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("gpu_count counts GPUs as BOINC's clients report them", "[gateway]") {
    CHECK(gpu_count("") == 0);
    CHECK(gpu_count("[CUDA|NVIDIA GeForce RTX 3090|2|4095MB|53522|300][BOINC|7.20.5]") == 2);
    CHECK(gpu_count("[CUDA|A|1|1MB|1][CAL|B|2|1MB|1][INTEL|C|1|1MB||][apple_gpu|D|1|1MB|1]") == 5);
    CHECK(gpu_count("[BOINC|7.24.1|64][vbox|7.0|1|1][docker|4|1]") == 0);
    CHECK(gpu_count("[CUDA|NVIDIA|-1|4095MB]") == 0);
    CHECK(gpu_count("[CUDA|NVIDIA|99999999999999999999|4095MB]") == 0);
    CHECK(gpu_count("[CUDA|NVIDIA|999|4095MB][CUDA|NVIDIA|999|4095MB]") == kMaxGpus);
    for (const char* cut :
         {"[", "[CUDA", "[CUDA|", "[CUDA|x", "[CUDA|x|", "]", "||", "[]", "CUDA|x|1"}) {
        INFO(cut);
        CHECK(gpu_count(cut) == 0);
    }
    CHECK(gpu_count("[CUDA|x|1") == 1);  // truncated at the column's length
}

TEST_CASE("a bound of compute grows with cores and GPUs, and shrinks with a sample's cost",
          "[gateway]") {
    const ComputerReport desktop{.cores = 16, .flops_per_core = 5e9, .coprocessors = ""};
    CHECK(max_samples_per_second(desktop, 1e12) == 21);  // 4 × 16 × 5e9 × 64 / 1e12, rounded up
    ComputerReport with_gpu = desktop;
    with_gpu.coprocessors = "[CUDA|NVIDIA GeForce RTX 3090|1|24576MB|53522]";
    CHECK(max_samples_per_second(with_gpu, 1e12) == 8'021);
    ComputerReport counted = desktop;
    counted.gpus = 1;
    CHECK(max_samples_per_second(counted, 1e12) == 8'021);
    counted.coprocessors = with_gpu.coprocessors;  // the same GPU, reported twice
    CHECK(max_samples_per_second(counted, 1e12) == 8'021);
    CHECK(max_samples_per_second(desktop, 1e18) == 1);
}

// 1.02e12 operations a sample, trained at 40% of the hardware's peak.
TEST_CASE("fast hardware trains ALBERT-large at a quarter of its bound at most", "[gateway]") {
    const formats::ModelSpec large{.architecture = "albert",
                                   .vocabulary = 30'000,
                                   .embedding = 128,
                                   .hidden = 1'024,
                                   .layers = 24,
                                   .heads = 16,
                                   .ffn = 4'096,
                                   .positions = 512};
    const double cost = formats::albert_flops_per_sample(large, 512);
    constexpr double kUsed = 0.4;
    // 8 GPUs of 1e15 operations a second, in a computer that reports nothing else.
    const ComputerReport rack{
        .cores = 0, .flops_per_core = 0, .coprocessors = "[CUDA|NVIDIA H200|8|143771MB|58082]"};
    CHECK(4 * kUsed * 8 * 1e15 / cost <= static_cast<double>(max_samples_per_second(rack, cost)));
    // 64 threads on 32 cores with AVX-512 at 4 GHz; a thread does 0.6 operations a cycle of
    // Whetstone.
    const ComputerReport server{.cores = 64, .flops_per_core = 2.4e9, .coprocessors = ""};
    CHECK(4 * kUsed * 32 * 64 * 4e9 / cost <=
          static_cast<double>(max_samples_per_second(server, cost)));
}

TEST_CASE("no report of a computer breaks the bound of a ticket", "[gateway]") {
    for (const double flops : {-1.0, 0.0, 1e9, 1e300, kInfinity, kNan}) {
        for (const std::int64_t cores : {std::int64_t{-5}, std::int64_t{0}, std::int64_t{1},
                                         std::numeric_limits<std::int64_t>::max()}) {
            for (const std::int64_t gpus : {std::int64_t{-1}, std::int64_t{0}, cores}) {
                for (const double cost : {1e-300, 1.0, 1e12, 1e300}) {
                    const ComputerReport computer{.cores = cores,
                                                  .flops_per_core = flops,
                                                  .coprocessors = "[CUDA|x|1|1MB|1]",
                                                  .gpus = gpus};
                    const auto bound = max_samples_per_second(computer, cost);
                    CHECK(bound >= 1);
                    CHECK(bound <= wire::kMaxSamplesPerSecond);
                }
            }
        }
    }
    // A false report cannot exceed the bound of the largest plausible computer.
    const ComputerReport boast{.cores = 1'000'000,
                               .flops_per_core = 1e30,
                               .coprocessors = "[CUDA|x|1000|1MB|1]",
                               .gpus = 1'000};
    CHECK(static_cast<double>(max_samples_per_second(boast, 1e12)) ==
          std::ceil(kSafetyFactor * (1'024 * kMaxFlopsPerCore * kVectorFactor + 16 * kFlopsPerGpu) /
                    1e12));
}

TEST_CASE("without the cost of a sample there is no bound", "[gateway]") {
    const ComputerReport computer{.cores = 4, .flops_per_core = 5e9, .coprocessors = ""};
    for (const double cost : {0.0, -1.0, kInfinity, kNan}) {
        CHECK(max_samples_per_second(computer, cost) == 0);
    }
}

}  // namespace
}  // namespace dedloc::gateway
