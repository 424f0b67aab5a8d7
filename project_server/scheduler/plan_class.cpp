// A table has the conditions of each plan class in one row; fit_plan_class() finds the row and
// computes what a job takes of that resource. The conditions of a GPU are tested from its presence
// to its memory, and the first that fails is the sentence for the volunteer. Rates that a client
// reports are limited before they are used, and a missing one is replaced by an assumption, because
// they decide which version a host gets. Once the project has counted what a host does, its rate
// replaces them: a benchmark of scalar products says little of matrix products.
#include "project_server/scheduler/plan_class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dedloc::server {
namespace {

constexpr double kUnknownFlops = 1e9;   // assumed for a core until its client has run the benchmark
constexpr double kMaxCoreFlops = 1e12;  // more is not believed
constexpr double kMaxFlops = 1e16;      // the same of a GPU
/// Limits of a measured rate. A client expects that a job lasts as long as its lease on a host with
/// the lower one (work/work_generator.cpp), and ends no job before eleven days with the upper one
/// (rsc_fpops_bound in templates/).
constexpr double kMinMeasured = 1e9;
constexpr double kMaxMeasured = 1e15;
/// Share of a GPU's peak that is assumed: trainers use the matrix units, but not all of the time.
constexpr double kGpuShare = 0.3;
/// Share of a core that clients are told a non-CPU-intensive job uses.
constexpr double kBesideCpus = 0.05;

/// The conditions of a plan class; one row each.
struct PlanClass {
    std::string_view name;
    Resource resource = Resource::kCpu;
    bool uses_all_cores = false;
    std::int64_t min_cuda_version = 0;    ///< as cuDriverGetVersion reports it
    std::int64_t min_driver_version = 0;  ///< checked if the client reports one
    std::int64_t min_capability = 0;
    double min_gpu_memory = 0;  ///< bytes; a job's model may need more
};

/// CUDA 13 needs driver 580, and is compiled for capability 7.5 and newer (boinc_app/cuda). A
/// context and the kernels of libtorch take most of the smallest memory.
constexpr std::array<PlanClass, 4> kPlanClasses{{
    {.name = kAnyCpu},
    {.name = kMultithread, .uses_all_cores = true},
    {.name = kCuda,
     .resource = Resource::kNvidia,
     .min_cuda_version = 13'000,
     .min_driver_version = 58'000,
     .min_capability = 75,
     .min_gpu_memory = 2e9},
    {.name = kNonCpuIntensive, .resource = Resource::kBeside},
}};

const PlanClass* find_plan_class(std::string_view name) {
    const auto found = std::ranges::find(kPlanClasses, name, &PlanClass::name);
    return found == kPlanClasses.end() ? nullptr : &*found;
}

std::string gpu_refusal(const PlanClass& wanted, const NvidiaGpus& gpu) {
    if (gpu.count == 0) return "This computer has no NVIDIA GPU that BOINC can use.";
    if (gpu.driver_version > 0 && gpu.driver_version < wanted.min_driver_version) {
        return fmt::format(
            "The NVIDIA driver {}.{:02} is too old for GPU tasks: update it to {} or newer.",
            gpu.driver_version / 100, gpu.driver_version % 100, wanted.min_driver_version / 100);
    }
    if (gpu.cuda_version < wanted.min_cuda_version) {
        return fmt::format(
            "The NVIDIA driver supports CUDA {}.{}, and GPU tasks need CUDA {}.{}: update the "
            "driver to {} or newer.",
            gpu.cuda_version / 1000, gpu.cuda_version % 1000 / 10, wanted.min_cuda_version / 1000,
            wanted.min_cuda_version % 1000 / 10, wanted.min_driver_version / 100);
    }
    if (gpu.capability < wanted.min_capability) {
        return fmt::format(
            "The GPU {} is too old for this project: it has compute capability {}.{}, and GPU "
            "tasks need {}.{}.",
            gpu.name, gpu.capability / 10, gpu.capability % 10, wanted.min_capability / 10,
            wanted.min_capability % 10);
    }
    if (usable_gpu_memory(gpu) < wanted.min_gpu_memory) {
        return fmt::format(
            "The GPU {} has {:.0f} MB of usable memory, and GPU tasks need at least {:.0f} MB.",
            gpu.name, usable_gpu_memory(gpu) / 1e6, wanted.min_gpu_memory / 1e6);
    }
    return {};
}

/// FLOP/s of a job: those that were measured, else the assumed ones.
double projected_flops(std::string_view plan_class, const Machine& machine, double assumed) {
    const auto measured = machine.measured.find(plan_class);
    if (measured == machine.measured.end()) return assumed;
    return std::clamp(measured->second, kMinMeasured, kMaxMeasured);
}

}  // namespace

Machine machine_of(const SchedulerRequest& request, std::int64_t max_cpus, MeasuredRates measured) {
    const auto usable = static_cast<std::int64_t>(static_cast<double>(request.host.cores) *
                                                  request.preferences.cpu_fraction);
    const std::int64_t limit = max_cpus > 0 ? max_cpus : request.host.cores;
    return {.cores = std::max<std::int64_t>(1, std::min(usable, limit)),
            .core_flops = request.host.flops > 0 ? std::min(request.host.flops, kMaxCoreFlops)
                                                 : kUnknownFlops,
            .nvidia = request.nvidia,
            .measured = std::move(measured)};
}

bool is_plan_class(std::string_view plan_class) {
    return find_plan_class(plan_class) != nullptr;
}

Resource resource_of(std::string_view plan_class) {
    const PlanClass* const found = find_plan_class(plan_class);
    return found == nullptr ? Resource::kCpu : found->resource;
}

Fit fit_plan_class(std::string_view plan_class, const Machine& machine, std::int64_t gpus_used) {
    const PlanClass* const wanted = find_plan_class(plan_class);
    if (wanted == nullptr) {
        return {.refusal = fmt::format("The server does not know the plan class {}.", plan_class)};
    }
    if (wanted->resource == Resource::kNvidia) {
        std::string refusal = gpu_refusal(*wanted, machine.nvidia);
        if (!refusal.empty()) return {.refusal = std::move(refusal)};
        const double assumed =
            std::clamp(machine.nvidia.peak_flops * kGpuShare, 2 * machine.core_flops, kMaxFlops);
        const double flops = projected_flops(plan_class, machine, assumed);
        return {.usage = Usage{.resource = Resource::kNvidia, .cpus = 1, .flops = flops}};
    }
    if (wanted->resource == Resource::kBeside) {
        return {.usage = Usage{.resource = Resource::kBeside,
                               .cpus = kBesideCpus,
                               .flops = machine.core_flops}};
    }
    const std::int64_t cores =
        wanted->uses_all_cores ? std::max<std::int64_t>(1, machine.cores - gpus_used) : 1;
    const auto cpus = static_cast<double>(cores);
    return {.usage =
                Usage{.cpus = cpus,
                      .flops = projected_flops(plan_class, machine, cpus * machine.core_flops)}};
}

double usable_gpu_memory(const NvidiaGpus& gpus) {
    if (gpus.free_memory_bytes <= 0) return gpus.memory_bytes;
    return std::min(gpus.memory_bytes, gpus.free_memory_bytes);
}

}  // namespace dedloc::server
