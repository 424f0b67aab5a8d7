// A trial of the ways in which a processor can compute ALBERT. Which one is faster depends on the
// processor: AMX and AVX512-BF16 multiply bf16 two to four times as fast as fp32; where they are
// missing bf16 is emulated, and slower.
#pragma once

#include <optional>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::albert {

/// Computes gradients of a few samples by a model with two of the run's layers, in each way, and
/// returns the fastest one of the precision that is wanted. If none is, bf16 is chosen where it
/// saves a seventh of the time or more: a small lead could be the other one's in the next trial,
/// and fp32 rounds less.
///
/// `layers` must outlive models that compute that way.
/// Cost    for each way two gradients, or more until 0.1 s have passed
/// Errors  InputError: fp16 is wanted
ProcessorWay processor_way(const formats::RunFile& run, const Sampler& sampler,
                           std::optional<Precision> wanted, FusedLayers& layers);

}  // namespace dedloc::training::albert
