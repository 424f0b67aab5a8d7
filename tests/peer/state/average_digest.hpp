// The digest of an average in one call: CommitRecord::average.
#pragma once

#include <span>

#include "kernels/digest.hpp"
#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"

namespace dedloc::state {

inline Digest average_digest(std::span<const float> average,
                             const kernels::Workers& workers = kernels::ThisThread{}) {
    return Digest{kernels::tree_digest(std::as_bytes(average), workers)};
}

}  // namespace dedloc::state
