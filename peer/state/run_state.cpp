// Copies fields of a run file. The order of its tensors fixes both the layout of the parameter
// vector (formats::tensor_offsets) and the random stream of each tensor, so it is part of the run's
// definition. norm_limit is not in the run file and keeps its default.
#include "peer/state/run_state.hpp"

#include "peer/base/check.hpp"
#include "peer/state/initial_parameters.hpp"

namespace dedloc::state {
namespace {

Initial kind_of(formats::Initial initial) {
    switch (initial) {
        case formats::Initial::kZero:
            return Initial::kZero;
        case formats::Initial::kOne:
            return Initial::kOne;
        case formats::Initial::kNormal:
            return Initial::kNormal;
    }
    DEDLOC_CHECK(false, "a tensor's initial value is zero, one or normal",
                 static_cast<int>(initial));
    return Initial::kZero;
}

}  // namespace

std::vector<TensorRange> tensor_ranges(const formats::RunFile& run) {
    std::vector<TensorRange> ranges;
    const std::vector<std::uint64_t> offsets = formats::tensor_offsets(run);
    for (std::size_t i = 0; i < run.tensors.size(); ++i) {
        const formats::TensorSpec& tensor = run.tensors[i];
        ranges.push_back(
            {.offset = offsets[i],
             .count = tensor.count(),
             .padding = tensor.padded_count() - tensor.count(),
             .decays = tensor.decays,
             .row_length = tensor.has_unit_rows ? tensor.count() / tensor.shape.front() : 0,
             .frozen_steps = tensor.frozen_steps});
    }
    return ranges;
}

OptimizerSettings optimizer_settings(const formats::RunFile& run) {
    OptimizerSettings settings;
    settings.optimizer = run.optimizer.name;
    settings.schedule = run.optimizer.schedule;
    settings.learning_rate = run.optimizer.learning_rate;
    settings.warmup_steps = run.optimizer.warmup_steps;
    settings.start_learning_rate = run.optimizer.start_learning_rate;
    settings.final_learning_rate = run.optimizer.final_learning_rate;
    settings.total_steps = run.steps;
    settings.beta1 = run.optimizer.beta1;
    settings.beta2 = run.optimizer.beta2;
    settings.momentum = run.optimizer.momentum;
    settings.epsilon = run.optimizer.epsilon;
    settings.trust = run.optimizer.trust;
    settings.weight_decay = run.optimizer.weight_decay;
    settings.clip_norm = run.optimizer.clip_norm;
    return settings;
}

FloatVector initial_parameters(const formats::RunFile& run) {
    std::vector<TensorInit> tensors;
    for (const formats::TensorSpec& tensor : run.tensors) {
        tensors.push_back({.count = tensor.count(),
                           .padding = tensor.padded_count() - tensor.count(),
                           .kind = kind_of(tensor.initial),
                           .deviation = tensor.deviation});
    }
    return initial_parameters(tensors, run.seed);
}

}  // namespace dedloc::state
