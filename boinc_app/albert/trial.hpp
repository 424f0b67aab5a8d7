// A trial of the ways in which a processor can compute ALBERT. Which one is faster depends on the
// processor: AMX and AVX512-BF16 multiply bf16 two to four times as fast as fp32; where they are
// missing bf16 is emulated, and slower. Many cores need more samples at once than one.
#pragma once

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::albert {

/// How the processor computes in the precision that is wanted: always the same way, so that it
/// computes the same bits again. If none is wanted, gradients of a few samples are computed by a
/// model with two of the run's layers. Then the choice is
///
///  - bf16 where it saves a seventh of the time or more: fp32 rounds less;
///  - one thread for each core, or all threads where they save a twentieth of the time;
///  - micro-batches as footprint.hpp assumes them, or twice, four times … as large, as long as a
///    sample takes a twentieth less time, a micro-batch at most half a second, its activations a
///    quarter of the memory and its samples a quarter of the target batch.
///
/// All three change the rounding of a sum, and a small lead could be another one's in the next
/// trial, so a caller that needs the same bits keeps the choice (device/kept_way.hpp).
///
/// `layers` must outlive models that compute that way. Sets the calling thread's compute threads.
/// Cost    for each way two gradients, or more until 0.1 s have passed, but of a way that takes
///         three times as long as another only a part of one; if fp32 is wanted, or the
///         offer says that the precision was tried, none
/// Errors  InputError: fp16 is wanted, or bf16 where it cannot be computed
ProcessorWay processor_way(const formats::RunFile& run, const Sampler& sampler,
                           const ProcessorOffer& offer, FusedLayers& layers);

}  // namespace dedloc::training::albert
