#include "project_server/gateway/compute_bound.hpp"

#include <algorithm>
#include <cmath>

#include "peer/wire/limits.hpp"
#include "project_server/xml/coprocessors.hpp"

namespace dedloc::gateway {

std::int64_t gpu_count(std::string_view coprocessors) {
    return server::count_gpus(coprocessors, kMaxGpus);
}

std::uint64_t max_samples_per_second(const ComputerReport& computer, double flops_per_sample) {
    if (!std::isfinite(flops_per_sample) || flops_per_sample <= 0) return 0;
    const std::int64_t cores = std::clamp<std::int64_t>(computer.cores, 1, kMaxCores);
    // Written so that NaN gives the lower limit too.
    const double per_core = computer.flops_per_core > kMinFlopsPerCore
                                ? std::min(computer.flops_per_core, kMaxFlopsPerCore)
                                : kMinFlopsPerCore;
    const std::int64_t gpus = std::clamp(computer.gpus, gpu_count(computer.coprocessors), kMaxGpus);
    const double flops = static_cast<double>(cores) * per_core * kVectorFactor +
                         static_cast<double>(gpus) * kFlopsPerGpu;
    constexpr auto kMost = static_cast<double>(wire::kMaxSamplesPerSecond);
    const double samples = std::ceil(kSafetyFactor * flops / flops_per_sample);
    return static_cast<std::uint64_t>(std::clamp(samples, 1.0, kMost));
}

}  // namespace dedloc::gateway
