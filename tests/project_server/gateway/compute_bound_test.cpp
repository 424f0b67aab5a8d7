// The bound of a job's samples per second, from true and false reports of a BOINC client.
#include "project_server/gateway/compute_bound.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "peer/formats/albert_layout.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/scheduler/plan_class.hpp"

namespace dedloc::gateway {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();

const formats::AlbertSpec kLarge{.vocabulary = 30'000,
                                 .embedding = 128,
                                 .hidden = 1'024,
                                 .layers = 24,
                                 .heads = 16,
                                 .ffn = 4'096,
                                 .positions = 512};
/// The cost of ALBERT-large with a text in which all samples have 512 tokens.
const SampleCost kCost{.full = formats::albert_flops_per_sample(kLarge, 512),
                       .min = formats::albert_min_flops(kLarge, 512)};
constexpr SampleCost kRound{.full = 1e12, .min = 1e12};

std::uint64_t bound(const ComputerReport& computer, const SampleCost& cost = kCost) {
    return max_samples_per_second(computer, {}, cost);
}

/// What a forged client_state can claim at most, for a job of this version.
ComputerReport boast(std::optional<std::string_view> plan_class) {
    return {.plan_class = plan_class,
            .cores = 1'024,
            .core_flops = 2e10,
            .coprocessors = "[CUDA|NVIDIA H200|16|143771MB|58082]",
            .gpus = 16};
}

}  // namespace

TEST_CASE("a forged computer gets the bound of one GPU, or of the largest server", "[gateway]") {
    // The bound for all that a computer claims was 130,887 samples per second.
    CHECK(bound(boast(server::kCuda)) == 1'323);
    CHECK(bound(boast(server::kMultithread)) == 382);
    CHECK(bound(boast(server::kAnyCpu)) == 2);
    CHECK(bound(boast(std::nullopt)) == 1'323);
    for (auto other = boast(server::kMultithread); const std::int64_t cores : {256L, 1'024L}) {
        other.cores = cores;
        CHECK(bound(other) == 382);
    }
}

TEST_CASE("a job's bound is of its device, not of all that the computer has", "[gateway]") {
    ComputerReport desktop{.plan_class = server::kMultithread,
                           .cores = 16,
                           .core_flops = 5e9,
                           .coprocessors = "[CUDA|NVIDIA GeForce RTX 3090|1|24576MB|53522]",
                           .gpus = 1};
    CHECK(bound(desktop, kRound) == 24);  // 3 × 16 × 5e11 / 1e12
    desktop.plan_class = server::kAnyCpu;
    CHECK(bound(desktop, kRound) == 2);
    desktop.plan_class = server::kCuda;
    CHECK(bound(desktop, kRound) == 1'332);  // 3 × 4.44e14 / 1e12
    desktop.gpus = 0;
    desktop.coprocessors = {};
    CHECK(bound(desktop, kRound) == 1'332);  // another computer of the account may have asked
    // If the version is unknown, the GPU counts if there is one.
    desktop.plan_class.reset();
    CHECK(bound(desktop, kRound) == 24);
    desktop.coprocessors = "[INTEL|Arc|1|8000MB||][BOINC|7.20.5]";
    CHECK(bound(desktop, kRound) == 1'332);
    desktop.coprocessors = "[BOINC|7.20.5][vbox|7.0|1|1]";
    CHECK(bound(desktop, kRound) == 24);
    desktop.gpus = 1;
    CHECK(bound(desktop, kRound) == 1'332);
}

TEST_CASE("the benchmark lowers the bound of slow cores and raises none", "[gateway]") {
    ComputerReport computer{.plan_class = server::kMultithread, .cores = 4, .coprocessors = {}};
    for (const double measured : {2.5e9, 5e9, 1e30, kInfinity}) {
        computer.core_flops = measured;
        CHECK(bound(computer, {1e10, 1e10}) == 600);  // 3 × 4 × 5e11 / 1e10
    }
    computer.core_flops = 1.5e9;
    CHECK(bound(computer, {1e10, 1e10}) == 360);  // 3 × 4 × 200 × 1.5e9 / 1e10
    // A computer that has not run it reports BOINC's default, or nothing.
    for (const double unknown : {1e9, 1e8, 0.0, -1.0, kNan, -kInfinity}) {
        computer.core_flops = unknown;
        CHECK(bound(computer, {1e10, 1e10}) == 600);
    }
}

TEST_CASE("honest devices train at a third of their bound at most", "[gateway]") {
    const auto allowed = [](const ComputerReport& computer) {
        return static_cast<double>(bound(computer)) * kCost.full / kSafetyFactor;
    };
    for (const MeasuredRate& gpu : kMeasuredGpus) {
        CHECK(gpu.flops <= allowed({.plan_class = server::kCuda, .coprocessors = {}}));
    }
    // 32 cores with AMX at 3 GHz; Whetstone does 1.2 operations a cycle, or has not been run.
    for (const double benchmark : {1.2 * 3e9, 1e9}) {
        CHECK(32 * fastest(kMeasuredCores) <= allowed({.plan_class = server::kMultithread,
                                                       .cores = 32,
                                                       .core_flops = benchmark,
                                                       .coprocessors = {}}));
    }
    // Their 64 threads, and the 512 of the largest server: each has half of a core.
    for (const std::int64_t threads : {64, 512}) {
        CHECK(static_cast<double>(threads / 2) * fastest(kMeasuredCores) <=
              allowed({.plan_class = server::kMultithread,
                       .cores = threads,
                       .core_flops = 0.6 * 3e9,
                       .coprocessors = {}}));
    }
    // Small processors: one core of 5 GFLOP/s with the default benchmark, and with a measured one.
    for (const double benchmark : {1e9, 1.1e9}) {
        CHECK(5e9 <= allowed({.plan_class = server::kAnyCpu,
                              .cores = 1,
                              .core_flops = benchmark,
                              .coprocessors = {}}));
    }
}

TEST_CASE("short samples raise the bound, and an administrator's rates do", "[gateway]") {
    const ComputerReport gpu{.plan_class = server::kCuda, .coprocessors = {}};
    CHECK(bound(gpu, {1e12, 1e11}) == 13'320);
    CHECK(bound(gpu, {1e12, 2e12}) == 1'332);  // no sample is longer than a full one
    for (const double unknown : {0.0, -1.0, kNan}) {
        CHECK(bound(gpu, {1e12, unknown}) == 5'328);  // a run of an earlier version
    }
    const DeviceRates rates{.flops_per_gpu = 1e15, .flops_per_core = 1e12};
    CHECK(max_samples_per_second(gpu, rates, kRound) == 3'000);
    const ComputerReport server{
        .plan_class = server::kMultithread, .cores = 64, .core_flops = 1e10, .coprocessors = {}};
    CHECK(max_samples_per_second(server, rates, kRound) == 192);
}

TEST_CASE("no report of a computer breaks the bound of a ticket", "[gateway]") {
    const std::string_view classes[] = {server::kAnyCpu, server::kMultithread, server::kCuda,
                                        server::kNonCpuIntensive, "another"};
    for (const double flops : {-1.0, 0.0, 1e9, 1e300, kInfinity, kNan}) {
        for (const std::int64_t cores :
             {std::int64_t{-5}, std::int64_t{0}, std::int64_t{1}, kMany}) {
            for (const std::string_view plan_class : classes) {
                for (const double cost : {1e-300, 1.0, 1e12, 1e300}) {
                    const auto samples = bound({.plan_class = plan_class,
                                                .cores = cores,
                                                .core_flops = flops,
                                                .coprocessors = "[CUDA|x|1|1MB|1]",
                                                .gpus = cores},
                                               {cost, cost});
                    CHECK(samples >= 1);
                    CHECK(samples <= wire::kMaxSamplesPerSecond);
                }
            }
        }
    }
}

TEST_CASE("without the cost of a sample there is no bound", "[gateway]") {
    for (const double cost : {0.0, -1.0, kInfinity, kNan}) {
        CHECK(bound({.cores = 4, .coprocessors = {}}, {cost, 1e12}) == 0);
    }
}

}  // namespace dedloc::gateway
