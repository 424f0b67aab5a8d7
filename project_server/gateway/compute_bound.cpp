#include "project_server/gateway/compute_bound.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "peer/wire/limits.hpp"

namespace dedloc::gateway {
namespace {

/// Names of GPU kinds, as BOINC's lib/coproc.cpp writes them.
constexpr std::array<std::string_view, 4> kGpuKinds{"CUDA", "CAL", "INTEL", "apple_gpu"};

/// Removes the text up to and including `end` and returns it without `end`; the whole text if it
/// has no `end`.
std::string_view take_until(std::string_view& text, char end) {
    const std::size_t at = text.find(end);
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return taken;
}

/// A number between 0 and kMaxGpus; 0 if the text is not a number.
std::int64_t count_of(std::string_view text) {
    std::int64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return std::clamp<std::int64_t>(count, 0, kMaxGpus);
}

}  // namespace

std::int64_t gpu_count(std::string_view coprocessors) {
    std::int64_t gpus = 0;
    while (!coprocessors.empty() && gpus < kMaxGpus) {
        take_until(coprocessors, '[');
        std::string_view entry = take_until(coprocessors, ']');
        const std::string_view kind = take_until(entry, '|');
        take_until(entry, '|');  // skips the name
        if (std::ranges::find(kGpuKinds, kind) != kGpuKinds.end()) {
            gpus += count_of(take_until(entry, '|'));
        }
    }
    return std::min(gpus, kMaxGpus);
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
