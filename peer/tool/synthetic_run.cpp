// The model in the run file is the smallest valid one; the tool never builds it. Only the tensors
// matter: their sizes add up to the vector.
#include "peer/tool/synthetic_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/error.hpp"

namespace dedloc::tool {
namespace {

constexpr std::uint64_t kTensorElements = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxTensors = 1'024;

std::uint64_t aligned(std::uint64_t elements) {
    return (elements + formats::kTensorAlignment - 1) / formats::kTensorAlignment *
           formats::kTensorAlignment;
}

/// Tensors without padding. `elements` is a multiple of the alignment.
std::vector<formats::TensorSpec> tensors_of(std::uint64_t elements) {
    // Large vectors get larger tensors, so that their number stays within the limit.
    const std::uint64_t longest =
        std::max(kTensorElements, aligned((elements + kMaxTensors - 1) / kMaxTensors));
    std::vector<formats::TensorSpec> tensors;
    for (std::uint64_t done = 0; done < elements; done += tensors.back().count()) {
        tensors.push_back({.name = fmt::format("part_{}", tensors.size()),
                           .shape = {std::min(longest, elements - done)},
                           .initial = formats::Initial::kOne,
                           .deviation = 0,
                           .decays = tensors.size() % 2 == 0});
    }
    return tensors;
}

/// The smallest valid model; it is not used.
formats::AlbertSpec no_model() {
    return {.vocabulary = 6,
            .embedding = 1,
            .hidden = 1,
            .layers = 1,
            .heads = 1,
            .ffn = 1,
            .positions = 8};
}

}  // namespace

formats::RunFile make_run(const SyntheticRun& synthetic) {
    if (synthetic.bytes == 0) throw InputError("the vector needs at least one byte");
    formats::RunFile run;
    run.name = "synthetic";
    run.seed = synthetic.seed;
    run.model = no_model();
    run.sequence_length = no_model().positions;
    run.target_batch = synthetic.target_batch;
    run.steps = synthetic.steps;
    run.flops_per_sample = 1;
    run.encrypts = synthetic.encrypts;
    run.codec = synthetic.codec;
    run.overlaps = synthetic.overlaps;
    run.dht_seeds = synthetic.dht_seeds;
    run.tensors = tensors_of(aligned((synthetic.bytes - 1) / sizeof(float) + 1));
    return run;
}

}  // namespace dedloc::tool
