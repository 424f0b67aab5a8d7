// The parameters of a run at step 0. They follow from the run file alone, so every peer can compute
// them and they are never sent.
#pragma once

#include <cstdint>
#include <span>

#include "peer/base/bytes.hpp"

namespace dedloc::state {

/// How a tensor's elements are initialised.
enum class Initial : std::uint8_t {
    kZero,   ///< all 0
    kOne,    ///< all 1
    kNormal  ///< pseudo-random, approximately normal with mean 0
};

/// One tensor's initialisation.
struct TensorInit {
    std::uint64_t count = 0;        ///< number of elements
    std::uint64_t padding = 0;      ///< number of zeros after them
    Initial kind = Initial::kZero;  ///< distribution of the elements
    double deviation = 0;           ///< standard deviation; only used with kNormal
};

/// Computes the parameters at step 0, the same bits on every machine: element i of a kNormal tensor
/// t is float(deviation × x), where x is the i-th near_normal() of Random(seed).split(t).
FloatVector initial_parameters(std::span<const TensorInit> tensors, std::uint64_t seed);

}  // namespace dedloc::state
