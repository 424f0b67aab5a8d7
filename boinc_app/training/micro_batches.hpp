// Consecutive samples of a peer, computed in micro-batches that the device's memory can hold.
#pragma once

#include <cstdint>
#include <optional>

#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/task.hpp"

namespace dedloc::training {

/// What one micro-batch has added to a sum.
struct AddedSamples {
    std::uint64_t count = 0;  ///< samples
    double loss_sum = 0;      ///< sum of their losses, in nats
};

/// Adds the gradients of samples to a replica's sum. When the device has too little memory for a
/// micro-batch, it computes the first half of those samples instead, and stays with that size: it
/// changes nothing but the rounding of the sum. Micro-batches are whole units of samples.
class MicroBatches {
  public:
    /// `replica` must outlive it. `unit`: formats::samples_together. Requires a size that is a
    /// multiple of the unit, and at least one (aborts).
    MicroBatches(Replica& replica, std::uint64_t size, std::uint64_t unit);

    /// Computes samples first, first + 1 … of the peer in the step, as many as a micro-batch has,
    /// but at most `limit`, drawn with these weights of the sources (SampleRange::weights). Returns
    /// nothing, and leaves the sum as it was, when it is interrupted.
    ///
    /// Requires  a limit that is a multiple of the unit, and at least one (aborts)
    /// Errors    DeviceError: kOutOfMemory if the device has too little memory for one unit
    std::optional<AddedSamples> add(const PeerKey& peer, StepIndex step, std::uint64_t first,
                                    std::uint64_t limit, const IsInterrupted& is_interrupted,
                                    const formats::SharedWeights& weights = {});

    /// Samples of a micro-batch; shrinks when the device's memory runs out.
    std::uint64_t size() const { return size_; }

  private:
    Replica& replica_;
    std::uint64_t size_;
    const std::uint64_t unit_;
};

}  // namespace dedloc::training
