// The estimates count what autograd saves for the backward pass. Times are not measured but assumed
// from the number of operations: a first micro-batch must not depend on a measurement, and a wrong
// guess only makes a trainer a little slower, or its answers a little later.
#include "boinc_app/training/footprint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/formats/albert_layout.hpp"

namespace dedloc::training {
namespace {

/// Operations of a micro-batch for each compute thread: 0.1 to 0.2 s at 25 to 50 GFLOP/s, which
/// training_bench measured on an EPYC core.
constexpr double kOperationsPerThread = 5e9;
constexpr std::uint64_t kMaxMicroBatch = 64;
/// Activations may take this part of the machine's memory: a quarter.
constexpr std::uint64_t kMemoryShare = 4;

double megabytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

}  // namespace

std::uint64_t activation_bytes(const formats::RunFile& run) {
    const formats::ModelSpec& model = run.model;
    // For each token: twelve vectors of the layer's width (inputs of matrix products and layer
    // norms), input and output of the activation, attention before and after the softmax.
    // Dropout keeps what it multiplied.
    const std::uint64_t attention = model.attention_dropout > 0 ? 3 : 2;
    const std::uint64_t layer =
        12 * model.hidden + 2 * model.ffn + attention * model.heads * run.sequence_length;
    // The head is computed for masked tokens only, about one in six: logits, and their gradient.
    const std::uint64_t head = 2 * model.vocabulary / 6;
    return sizeof(float) * run.sequence_length * (model.layers * layer + head);
}

std::uint64_t suitable_micro_batch(const formats::RunFile& run, const Device& device) {
    const double operations = formats::albert_flops_per_sample(run.model, run.sequence_length);
    const double in_time = kOperationsPerThread * device.threads / operations;
    const std::uint64_t in_memory = device.memory_bytes / kMemoryShare / activation_bytes(run);
    return std::clamp(std::min(static_cast<std::uint64_t>(in_time), in_memory), std::uint64_t{1},
                      kMaxMicroBatch);
}

std::string memory_line(const formats::RunFile& run, std::uint64_t micro_batch,
                        std::uint32_t kept_averages) {
    const std::uint64_t vector = formats::element_count(run) * sizeof(float);
    const bool has_residual = run.codec != Codec::kFp32;
    const std::string kept =
        kept_averages == 0
            ? ""
            : fmt::format(", and {} averages for peers that are behind", kept_averages);
    return fmt::format(
        "{} parameters: a vector has {:.1f} MB; a trainer holds {} (state 3, sum 1, average "
        "1{}){}; "
        "micro-batches of {} need about {:.0f} MB",
        formats::parameter_count(run), megabytes(vector), has_residual ? 6 : 5,
        has_residual ? ", residual 1" : "", kept, micro_batch,
        megabytes(vector + micro_batch * activation_bytes(run)));
}

}  // namespace dedloc::training
