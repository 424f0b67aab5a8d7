// The parameters a run starts from. They follow from the run file alone, so nobody has to send
// them.
#pragma once

#include <cstdint>
#include <span>

#include "peer/base/bytes.hpp"

namespace dedloc::state {

enum class Initial : std::uint8_t { kZero, kOne, kNormal };

struct TensorInit {
    std::uint64_t count = 0;
    Initial kind = Initial::kZero;
    double deviation = 0;  ///< of kNormal
};

/// The parameters of a new run, the same bits on every machine: element i of a kNormal tensor t is
/// float(deviation × x) with x the i-th near_normal() of Random(seed).split(t).
FloatVector initial_parameters(std::span<const TensorInit> tensors, std::uint64_t seed);

}  // namespace dedloc::state
