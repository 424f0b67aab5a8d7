// The plan classes of app versions: which hosts can run a version, and how much of a host one job
// takes. Pure functions of what a client has reported. The official server reads the same
// conditions from templates/plan_class_spec.xml.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "project_server/scheduler/request.hpp"

namespace dedloc::server {

/// Any processor, one core: the plan class of a version without one.
inline constexpr std::string_view kAnyCpu;
/// All processors that BOINC may use.
inline constexpr std::string_view kMultithread = "mt_dedloc";
/// One NVIDIA GPU and one core.
inline constexpr std::string_view kCuda = "cuda_dedloc";
/// Next to nothing of any processor: non-CPU-intensive jobs, which BOINC runs beside all others.
inline constexpr std::string_view kNonCpuIntensive = "nci_dedloc";

/// What jobs occupy. Clients request work for processors and GPUs separately.
enum class Resource : std::uint8_t {
    kCpu,     ///< the host's processors
    kNvidia,  ///< one NVIDIA GPU
    kBeside,  ///< neither: the job runs beside those that do
};
/// All resources, in the order of their values.
inline constexpr std::array kResources{Resource::kCpu, Resource::kNvidia, Resource::kBeside};

/// BOINC's name of the processors or GPUs that a job computes on.
constexpr std::string_view type_of(Resource resource) {
    return resource == Resource::kNvidia ? kCoprocessorKinds[0].type : "CPU";
}
static_assert(kCoprocessorKinds[0].element == "coproc_cuda");

/// A value for each resource.
template <class Value>
struct PerResource {
    std::array<Value, kResources.size()> values{};  ///< index: the resource's number
    Value& operator[](Resource resource) { return values[static_cast<std::size_t>(resource)]; }
    const Value& operator[](Resource resource) const {
        return values[static_cast<std::size_t>(resource)];
    }
    bool operator==(const PerResource&) const = default;
};

/// The part of a host that one job takes.
struct Usage {
    Resource resource = Resource::kCpu;  ///< where a job of the version computes
    double cpus = 1;                     ///< avg_ncpus
    double flops = 0;                    ///< projected FLOP/s of a job: the choice, and estimates
};

/// Whether a host can run versions of a plan class.
struct Fit {
    std::optional<Usage> usage{};  ///< nothing: it cannot
    std::string refusal{};         ///< for the volunteer, one sentence; empty if it can
};

/// FLOP/s that the project has counted for a host's jobs, by plan class (measured_rates.hpp).
using MeasuredRates = std::map<std::string, double, std::less<>>;

/// A host as plan classes see it.
struct Machine {
    std::int64_t cores = 1;    ///< that BOINC may use for a job of this project, at least 1
    double core_flops = 0;     ///< FLOP/s of one core, by its client's benchmark
    NvidiaGpus nvidia;         ///< count 0: none
    MeasuredRates measured{};  ///< replace what follows from benchmark and peak
};

/// The machine of a client. `max_cpus` is the account's limit for a job, 0: none.
Machine machine_of(const SchedulerRequest& request, std::int64_t max_cpus,
                   MeasuredRates measured = {});

/// Whether `plan_class` is one of those above. Versions of other classes are never sent.
bool is_plan_class(std::string_view plan_class);
/// The resource of a plan class; processors if it is unknown.
Resource resource_of(std::string_view plan_class);

/// Applies a plan class to a machine. `gpus_used` is the number of its GPUs that may have a job of
/// this project: each needs a core, which a job on the processors then leaves free.
Fit fit_plan_class(std::string_view plan_class, const Machine& machine, std::int64_t gpus_used);

/// The bytes of GPU memory that a job can use.
double usable_gpu_memory(const NvidiaGpus& gpus);

}  // namespace dedloc::server
