// A model state as a run file describes it.
#pragma once

#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/state/model_state.hpp"
#include "peer/state/update_scalars.hpp"

namespace dedloc::state {

/// The tensors of the run, one after the other in the run file's order.
std::vector<TensorRange> tensor_ranges(const formats::RunFile& run);
/// The optimizer of the run.
LambSettings lamb_settings(const formats::RunFile& run);
/// The parameters at step 0. Cost: 12 random numbers for each element that starts normal.
FloatVector initial_parameters(const formats::RunFile& run);

}  // namespace dedloc::state
