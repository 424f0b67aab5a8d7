// A trial of the precisions in which a processor can compute ALBERT. Which one is faster depends on
// the processor: AMX and AVX512-BF16 multiply bf16 two to four times as fast as fp32; where they
// are missing bf16 is emulated, and slower.
#pragma once

#include <optional>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::albert {

/// How the processor computes in the precision that is wanted: always the same way, so that it
/// computes the same bits again. If none is wanted, gradients of a few samples are computed by a
/// model with two of the run's layers, and bf16 is chosen where it saves a seventh of the time or
/// more: a small lead could be the other one's in the next trial, and fp32 rounds less.
///
/// `layers` must outlive models that compute that way.
/// Cost    for each precision two gradients, or more until 0.1 s have passed; if fp32 is wanted,
///         none
/// Errors  InputError: fp16 is wanted, or bf16 where it cannot be computed
ProcessorWay processor_way(const formats::RunFile& run, const Sampler& sampler,
                           std::optional<Precision> wanted, FusedLayers& layers);

}  // namespace dedloc::training::albert
