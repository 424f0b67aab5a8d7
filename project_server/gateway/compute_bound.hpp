// Upper bound of the samples per second that a volunteer's computer can train, computed from the
// hardware that its BOINC client reports. The ticket carries the bound, and the coordinator refuses
// a peer that claims more. So no honest peer may come near it: it is the hardware's peak rate times
// kSafetyFactor.
//
// A client can report hardware that does not exist, but only up to the limits below, and its report
// is public on the computer's page.
#pragma once

#include <cstdint>
#include <string_view>

namespace dedloc::gateway {

/// Columns of BOINC's host table, as the client of that computer reports them.
struct ComputerReport {
    std::int64_t cores = 0;         ///< p_ncpus
    double flops_per_core = 0;      ///< p_fpops: Whetstone benchmark on all cores at once
    std::string_view coprocessors;  ///< serialnum: "[CUDA|name|count|memory|driver]…"
    std::int64_t gpus = 0;          ///< p_ngpus; not every server fills it
};

/// AVX-512 does 64 binary32 operations per cycle and core, Whetstone about one.
inline constexpr double kVectorFactor = 64;
/// The fastest GPU that a volunteer may have, in dense 16-bit operations per second.
inline constexpr double kFlopsPerGpu = 2e15;
/// The bound is this many times the computed peak rate.
inline constexpr double kSafetyFactor = 4;

/// Limits of the reported numbers. A computer without a benchmark result reports BOINC's default,
/// which is the lower limit.
inline constexpr double kMinFlopsPerCore = 1e9;
inline constexpr double kMaxFlopsPerCore = 2e10;
inline constexpr std::int64_t kMaxCores = 1'024;
inline constexpr std::int64_t kMaxGpus = 16;

/// Number of GPUs in a `serialnum`, of every kind that BOINC knows; other entries in brackets are
/// ignored. Untrusted input. At most kMaxGpus.
std::int64_t gpu_count(std::string_view coprocessors);

/// The bound for Ticket::max_samples_per_second: at least 1, or 0 (no bound) if the run file does
/// not give the cost of a sample (RunFile::flops_per_sample). A missing number counts as its lower
/// limit.
std::uint64_t max_samples_per_second(const ComputerReport& computer, double flops_per_sample);

}  // namespace dedloc::gateway
