// What a volunteer's computer can train at most, from what its BOINC client reports of it. It goes
// into the ticket, and the coordinator refuses a peer that claims more samples a second. So it is
// an upper bound that no honest peer comes near: what the hardware might do, times kSafetyFactor.
//
// A client can report hardware that is not there, but not more than the limits below, and what it
// reports is on the computer's page for everyone to see.
#pragma once

#include <cstdint>
#include <string_view>

namespace dedloc::gateway {

/// Columns of BOINC's host table, as the client of that computer reports them.
struct ComputerReport {
    std::int64_t cores = 0;         ///< p_ncpus
    double flops_per_core = 0;      ///< p_fpops: Whetstone on all cores at once
    std::string_view coprocessors;  ///< serialnum: "[CUDA|name|count|memory|driver]…"
    std::int64_t gpus = 0;          ///< p_ngpus; not every server fills it
};

/// AVX-512 does 64 binary32 operations a cycle and core, Whetstone about one.
inline constexpr double kVectorFactor = 64;
/// The fastest GPU that a volunteer may have, in dense 16-bit operations a second.
inline constexpr double kFlopsPerGpu = 2e15;
inline constexpr double kSafetyFactor = 4;

/// A computer that has not measured itself yet reports BOINC's default.
inline constexpr double kMinFlopsPerCore = 1e9;
inline constexpr double kMaxFlopsPerCore = 2e10;
inline constexpr std::int64_t kMaxCores = 1'024;
inline constexpr std::int64_t kMaxGpus = 16;

/// How many GPUs a `serialnum` names, of every kind that BOINC knows; other brackets are of other
/// things. Untrusted input. At most kMaxGpus.
std::int64_t gpu_count(std::string_view coprocessors);

/// For Ticket::max_samples_per_second: at least 1, or 0 if the run does not say how many operations
/// a sample costs (RunFile::flops_per_sample). Whatever is not reported counts as least.
std::uint64_t max_samples_per_second(const ComputerReport& computer, double flops_per_sample);

}  // namespace dedloc::gateway
