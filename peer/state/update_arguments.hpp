// An update's settings and scalars as arguments of the kernels, for the host and for devices.
#pragma once

#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "peer/state/update_scalars.hpp"

namespace dedloc::state {

/// The arguments of both LAMB variants.
kernels::LambScalars lamb_arguments(const OptimizerSettings& settings, const UpdateScalars& scalars,
                                    float clip_factor);
/// The arguments of SGD and SGD with LARC.
kernels::SgdScalars sgd_arguments(const OptimizerSettings& settings, const UpdateScalars& scalars,
                                  float clip_factor);

}  // namespace dedloc::state
