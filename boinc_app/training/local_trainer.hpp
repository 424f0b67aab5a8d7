// Trains a run in one process, without a swarm: the samples, sums, averages and updates are those
// of a swarm's members, computed by the same functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "boinc_app/training/micro_batches.hpp"
#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training {

/// Samples 0 … samples − 1 of a peer in one step: what a member contributes to a round.
struct Share {
    PeerKey peer;     ///< whose samples they are
    Samples samples;  ///< their number, at least 1
    /// The mixture that they were drawn by (SampleRange::weights).
    formats::SharedWeights weights{};
};

/// What one step did.
struct LocalStep {
    Samples samples;             ///< sum over the shares
    double loss_sum = 0;         ///< sum of the samples' losses, in nats
    state::UpdateReport update;  ///< norm, and whether it was applied
};

/// Not copyable. Thread: one, whose number of compute threads it uses (set_compute_threads).
///
/// Memory   what the replica holds; on the host 4 N bytes for each share of a step, 4 N average.
class LocalTrainer {
  public:
    /// Gives the replica the run's initial state. `run`, `workers` and `replica` must outlive it.
    /// Requires a micro-batch of whole units (formats::samples_together) (aborts). Errors:
    /// DeviceError.
    LocalTrainer(const formats::RunFile& run, const kernels::Workers& workers, Replica& replica,
                 std::uint64_t micro_batch);

    /// One step of the run's optimizer: sums the gradients of every share in micro-batches, takes
    /// the average of the sums in the order of the shares, and updates the state with `scalars`. In
    /// a swarm that sends fp32, members with these shares, this micro-batch and this number of
    /// threads reach the same bits. Returns nothing, and changes nothing, when `is_interrupted`
    /// returns true.
    ///
    /// Requires  at least one share; every share has samples, in whole units (aborts)
    /// Errors    DeviceError
    std::optional<LocalStep> step(std::span<const Share> shares, const UpdateScalars& scalars,
                                  const IsInterrupted& is_interrupted = {});
    /// The same with the scalars that a coordinator would compute.
    std::optional<LocalStep> step(std::span<const Share> shares,
                                  const IsInterrupted& is_interrupted = {});

  private:
    const formats::RunFile& run_;
    const kernels::Workers& workers_;
    Replica& replica_;
    MicroBatches micro_batches_;
};

}  // namespace dedloc::training
