// The checks of the kernels' arguments, shared by host and device. Each aborts with a sentence that
// names the fault. They read only addresses and extents, so spans may refer to device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::kernels {

/// Checks the length of a vector that is summed.
void require_length(std::size_t count);

/// Checks the arguments of lamb; `end` is SegmentTable::end().
void require_lamb(const LambVectors& vectors, std::uint64_t end, const LambScalars& scalars);

/// Checks the arguments of sgd; `end` is SegmentTable::end().
void require_sgd(const SgdVectors& vectors, std::uint64_t end, const SgdScalars& scalars);

/// Checks the arguments of unit_rows; `end` is SegmentTable::end().
void require_unit_rows(std::size_t count, std::uint64_t end);

/// Checks the number of places for ratios or rates: none, or one for each tensor.
void require_results(std::size_t places, std::size_t tensors);

}  // namespace dedloc::kernels
