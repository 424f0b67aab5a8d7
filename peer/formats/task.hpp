// What of a run differs between kinds of networks, for programs without libtorch.
#pragma once

#include <cstdint>

#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// Samples that are computed together, because the loss of one depends on the others: micro-batches
/// and contributions consist of whole units of so many. 1: each is computed by itself.
std::uint64_t samples_together(const RunFile& run);

}  // namespace dedloc::formats
