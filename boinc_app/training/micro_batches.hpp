// Consecutive samples of a peer, computed in micro-batches that the device's memory can hold.
#pragma once

#include <cstdint>
#include <optional>

#include "boinc_app/training/batch.hpp"
#include "boinc_app/training/replica.hpp"

namespace dedloc::training {

/// What one micro-batch has added to a sum.
struct AddedSamples {
    std::uint64_t count = 0;  ///< samples
    double loss_sum = 0;      ///< sum of their losses, in nats
};

/// Draws samples and adds their gradients to a replica's sum. When the device has too little memory
/// for a micro-batch, it computes the first half of those samples instead, and stays with that
/// size: samples are drawn one by one, so the size changes nothing but the rounding of the sum.
class MicroBatches {
  public:
    /// `sampler` and `replica` must outlive it. Requires size ≥ 1 (aborts).
    MicroBatches(const Sampler& sampler, Replica& replica, std::uint64_t size);

    /// Computes samples first, first + 1 … of the step, as many as a micro-batch has, but at most
    /// `limit`. Returns nothing, and leaves the sum as it was, when it is interrupted.
    ///
    /// Requires  limit ≥ 1 (aborts)
    /// Errors    DeviceError: kOutOfMemory if the device has too little memory for one sample
    std::optional<AddedSamples> add(const Random& step, std::uint64_t first, std::uint64_t limit,
                                    const IsInterrupted& is_interrupted);

    /// Samples of a micro-batch; shrinks when the device's memory runs out.
    std::uint64_t size() const { return size_; }

  private:
    const Sampler& sampler_;
    Replica& replica_;
    std::uint64_t size_;
};

}  // namespace dedloc::training
