// Translates a run file's model and optimizer into what ModelState is made from.
#pragma once

#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/state/model_state.hpp"
#include "peer/state/update_scalars.hpp"

namespace dedloc::state {

/// The ranges of the run's tensors in the parameter vector, at formats::tensor_offsets.
std::vector<TensorRange> tensor_ranges(const formats::RunFile& run);
/// The optimizer settings of the run.
OptimizerSettings optimizer_settings(const formats::RunFile& run);
/// The parameters at step 0 with their padding. Cost: 12 random numbers for each normally
/// distributed element.
FloatVector initial_parameters(const formats::RunFile& run);

}  // namespace dedloc::state
