#include "project_server/gateway/compute_bound.hpp"

#include <cmath>

#include "peer/wire/limits.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/xml/coprocessors.hpp"

namespace dedloc::gateway {
namespace {

/// FLOP/s of some cores.
double rate_of_cores(std::int64_t cores, double benchmark, const DeviceRates& rates) {
    // Written so that NaN, as no benchmark, lowers nothing.
    const double one = benchmark > kDefaultBenchmark
                           ? std::min(rates.flops_per_core, kFlopsPerWhetstone * benchmark)
                           : rates.flops_per_core;
    return std::min(static_cast<double>(std::max<std::int64_t>(cores, 1)) * one,
                    static_cast<double>(kMaxCores) * rates.flops_per_core);
}

/// FLOP/s of a job's device.
double rate_of(const ComputerReport& computer, const DeviceRates& rates) {
    const double all_cores = rate_of_cores(computer.cores, computer.core_flops, rates);
    if (computer.plan_class == server::kCuda) return rates.flops_per_gpu;
    if (computer.plan_class == server::kAnyCpu) {
        return rate_of_cores(1, computer.core_flops, rates);
    }
    if (computer.plan_class) return all_cores;
    const bool has_gpu = computer.gpus > 0 || server::count_gpus(computer.coprocessors, 1) > 0;
    return has_gpu ? std::max(all_cores, rates.flops_per_gpu) : all_cores;
}

}  // namespace

std::uint64_t max_samples_per_second(const ComputerReport& computer, const DeviceRates& rates,
                                     const SampleCost& cost) {
    if (!std::isfinite(cost.full) || cost.full <= 0) return 0;
    // Written so that NaN is not known either.
    const double sample = cost.min > 0 ? std::min(cost.min, cost.full) : kMinShare * cost.full;
    const double samples = std::ceil(kSafetyFactor * rate_of(computer, rates) / sample);
    return static_cast<std::uint64_t>(
        std::clamp(samples, 1.0, static_cast<double>(wire::kMaxSamplesPerSecond)));
}

}  // namespace dedloc::gateway
