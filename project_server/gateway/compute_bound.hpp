// Upper bound of the samples per second that a job can train, computed from the device that its app
// version uses: one GPU, or the processors of the computer that asks. The ticket carries the bound,
// and the coordinator refuses a peer that claims more. So no honest peer may come near it: it is
// the fastest rate that was measured on such a device, times kSafetyFactor.
//
// A client can report hardware that does not exist, but a job's bound is never above that of one
// GPU, or of the largest server without one, and the report is public on the computer's page.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dedloc::gateway {

/// A rate of training that was measured: samples per second × albert_flops_per_sample().
struct MeasuredRate {
    std::string_view device;  ///< what was measured, and what it computed
    double flops;             ///< FLOP/s of one GPU or core
};
/// GPUs (boinc_app/cuda/README.md): 434 and 436 samples per second.
inline constexpr std::array<MeasuredRate, 2> kMeasuredGpus{{
    {"NVIDIA H100 80GB, ALBERT-large in bf16", 4.42e14},
    {"NVIDIA H200, ALBERT-large in bf16", 4.44e14},
}};
/// Cores. The first one is rounded up: 3e11 to 5e11, where bf16 products alone reach 7e11 to
/// 9.8e11 and fp32 products 1.6e11. The last two are of `training_bench --large --threads 1` and of
/// `--vocabulary 30000`, a small model, in which words that are not masked cost a trainer nothing.
inline constexpr std::array<MeasuredRate, 3> kMeasuredCores{{
    {"core of a server with AMX, bf16", 5e11},
    {"AMD EPYC 7003 with AVX2, ALBERT-large in fp32", 5.0e10},
    {"AMD EPYC 7003 with AVX2, tiny model with 30,000 words in fp32", 1.3e11},
}};
/// The rate of the fastest.
template <std::size_t Count>
constexpr double fastest(const std::array<MeasuredRate, Count>& rates) {
    return std::ranges::max_element(rates, {}, &MeasuredRate::flops)->flops;
}

/// Rates that the bound assumes of any device; an administrator whose volunteers have faster ones
/// sets others (server::Settings).
struct DeviceRates {
    double flops_per_gpu = fastest(kMeasuredGpus);    ///< a GPU's
    double flops_per_core = fastest(kMeasuredCores);  ///< a core's
};

/// The bound is this many times the rate of the device.
inline constexpr double kSafetyFactor = 3;
/// The largest server of two sockets whose cores have AMX has 256 of them, with 512 threads; some
/// have more cores, without AMX. So threads count as cores, since a client reports their sum, but
/// no computer for more than 256 cores of the fastest rate: two threads compute no more than one.
inline constexpr std::int64_t kMaxCores = 256;
/// A core trains at most so many operations for each one of Whetstone, BOINC's benchmark, which
/// does about 1.2 in a cycle: those with AMX about 140. The benchmark bounds slow cores with it.
inline constexpr double kFlopsPerWhetstone = 200;
/// BOINC's default for p_fpops. A computer that reports no more may not have run the benchmark.
inline constexpr double kDefaultBenchmark = 1e9;
/// The share of a full sample's cost that is assumed of a run of an earlier version.
inline constexpr double kMinShare = 0.25;

/// What is known of a job's device: the plan class with which it was sent, and columns of BOINC's
/// host table, as the client of the computer that asks reports them.
struct ComputerReport {
    /// That of the job's app version; nothing: there is no such version, as on an anonymous
    /// platform.
    std::optional<std::string_view> plan_class{};
    std::int64_t cores = 0;         ///< p_ncpus
    double core_flops = 0;          ///< p_fpops: Whetstone benchmark on all cores at once
    std::string_view coprocessors;  ///< serialnum: "[CUDA|name|count|memory|driver]…"
    std::int64_t gpus = 0;          ///< p_ngpus; not every server fills it
};

/// FLOPs of a run's samples.
struct SampleCost {
    double full = 0;  ///< RunFile::flops_per_sample, of a sample of full length
    double min = 0;   ///< dedloc_run.least_flops_per_sample; 0: not known
};

/// The bound for Ticket::max_samples_per_second: at least 1, or 0 (no bound) if the run file does
/// not give the cost of a sample. A missing number of cores counts as 1.
std::uint64_t max_samples_per_second(const ComputerReport& computer, const DeviceRates& rates,
                                     const SampleCost& cost);

}  // namespace dedloc::gateway
