// Times are not measured but assumed from the number of operations: a first micro-batch must not
// depend on a measurement, and a wrong guess only makes a trainer a little slower, or its answers a
// little later.
#include "boinc_app/training/footprint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/formats/task.hpp"
#include "peer/formats/training_memory.hpp"

namespace dedloc::training {
namespace {

/// Operations of a micro-batch for each compute thread: 0.1 to 0.2 s at 25 to 50 GFLOP/s, which
/// training_bench measured on an EPYC core.
constexpr double kOperationsPerThread = 5e9;
constexpr std::uint64_t kMaxMicroBatch = 64;
/// Activations may take this part of the machine's memory: a quarter.
constexpr std::uint64_t kMemoryShare = 4;
/// The same for a GPU and the memory that is free there, which other programs may use as well.
constexpr std::uint64_t kGpuMemoryShare = 2;
/// Small models are bound by the time of a launch, so their micro-batches are large; but several
/// peers share a step's target batch.
constexpr std::uint64_t kGpuMaxMicroBatch = 2048;
constexpr std::uint64_t kGpuTargetShare = 4;

/// Operations of a micro-batch for each multiprocessor of a GPU in reduced precision: 0.25 s at the
/// rate that training_bench measured on an H100 for ALBERT-large, and at a third of what the matrix
/// units of the generations before can do by data sheet.
double operations_per_multiprocessor(unsigned capability) {
    if (capability >= 90) return 0.25 * 3.3e12;
    if (capability >= 80) return 0.25 * 0.6e12;
    return 0.25 * 0.4e12;
}

double megabytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

std::uint64_t vector_bytes(const formats::RunFile& run) {
    return formats::element_count(run) * sizeof(float);
}

formats::ProductFormat products_of(const Computation& computation) {
    return {.is_reduced = computation.precision != Precision::kFp32,
            .fuses_attention = computation.fuses_attention,
            .fuses_layers = computation.layers != nullptr};
}

}  // namespace

std::uint64_t activation_bytes(const formats::RunFile& run, const Computation& computation) {
    return formats::activation_bytes(run, products_of(computation));
}

std::uint64_t micro_batch_bytes(const formats::RunFile& run, const Computation& computation) {
    return formats::micro_batch_bytes(run, products_of(computation));
}

std::uint64_t suitable_micro_batch(const formats::RunFile& run, const Device& device) {
    const double operations = run.flops_per_sample;
    double in_time = kOperationsPerThread * device.threads / operations;
    std::uint64_t memory = device.memory_bytes / kMemoryShare;
    if (device.gpu) {
        in_time = device.gpu->multiprocessors *
                  operations_per_multiprocessor(device.gpu->capability) / operations;
        const std::uint64_t free = device.gpu->free_memory_bytes / kGpuMemoryShare;
        memory = free - std::min(free, micro_batch_bytes(run, device.computation));
    }
    const std::uint64_t in_memory = memory / activation_bytes(run, device.computation);
    const std::uint64_t max = device.gpu ? std::clamp(run.target_batch / kGpuTargetShare,
                                                      std::uint64_t{1}, kGpuMaxMicroBatch)
                                         : kMaxMicroBatch;
    return std::clamp(std::min(static_cast<std::uint64_t>(in_time), in_memory), std::uint64_t{1},
                      max);
}

std::uint64_t micro_batch_for(const formats::RunFile& run, const Device& device,
                              std::uint64_t wanted) {
    const std::uint64_t unit = formats::samples_together(run);
    if (unit > 1) return unit;
    if (wanted != 0) return wanted;
    return device.micro_batch != 0 ? device.micro_batch : suitable_micro_batch(run, device);
}

std::string memory_line(const formats::RunFile& run, std::uint64_t micro_batch,
                        std::uint32_t kept_averages, const Device& device) {
    const bool has_residual = run.codec != Codec::kFp32;
    const std::uint32_t state = formats::state_vectors(run.optimizer.name);
    const std::string kept =
        kept_averages == 0
            ? ""
            : fmt::format(", and {} averages for peers that are behind", kept_averages);
    const std::string held = fmt::format("{} ({}sum 1, average 1{}){}",
                                         (device.gpu ? 0 : state) + (has_residual ? 3 : 2),
                                         device.gpu ? "" : fmt::format("state {}, ", state),
                                         has_residual ? ", residual 1" : "", kept);
    const double needed = megabytes(micro_batch_bytes(run, device.computation) +
                                    micro_batch * activation_bytes(run, device.computation));
    std::string line =
        fmt::format("{} parameters: a vector has {:.1f} MB; a trainer holds {}",
                    formats::parameter_count(run), megabytes(vector_bytes(run)), held);
    if (device.gpu) {
        line += fmt::format("; its GPU holds {} (state {}, sum 1, average 1)", state + 2, state);
    }
    line += fmt::format("; micro-batches of {} need about {:.0f} MB", micro_batch, needed);
    if (kept_averages == 0) return line;  // alone
    return line + fmt::format("; a copy of the state, to save it or for peers, has {:.1f} MB",
                              state * megabytes(vector_bytes(run)));
}

}  // namespace dedloc::training
