// The interface between the trainers and the device that computes: one replica of the model, with
// its state, its gradients and the sum of them in the memory of one device. HostReplica computes on
// the processor; a replica of a GPU gives the same updates bit for bit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "boinc_app/training/task.hpp"
#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/stable_bytes.hpp"
#include "peer/base/units.hpp"
#include "peer/state/model_state.hpp"
#include "peer/state/update_scalars.hpp"

namespace dedloc::training {

/// A sum of gradients, in host memory.
struct GradientSum {
    FloatVector values;      ///< N elements
    bool is_finite = false;  ///< all of them are finite
};

/// A copy of a state, in host memory.
struct StateCopy {
    Buffer bytes;                ///< as ModelState::bytes
    std::vector<Digest> leaves;  ///< as ModelState::leaf_digests
};

/// A state that stays as it is while it is held, whatever becomes of the replica.
struct SharedState {
    SharedStableBytes bytes;     ///< as ModelState::bytes
    std::vector<Digest> leaves;  ///< as ModelState::leaf_digests
};

/// One model state, the model that computes on it, and a sum of gradients. N is the number of
/// parameters with their padding. Starts with a state of zeros at step 0 and without a sum.
///
/// Thread   one at a time, after attach()
/// Errors   all functions that compute: DeviceError
class Replica {
  public:
    virtual ~Replica() = default;

    /// Prepares the calling thread, which makes all calls until another one calls this.
    virtual void attach() = 0;

    /// Number of updates that the state has seen.
    virtual StepIndex step() const = 0;
    /// N.
    virtual std::size_t element_count() const = 0;

    /// Resets to step 0 with these parameters (N) and zero moments.
    virtual void initialise(std::span<const float> parameters) = 0;
    /// Replaces the state by this one if its size is right and its digest is `expected`. Returns
    /// false, and changes nothing, otherwise. The sum is kept.
    [[nodiscard]] virtual bool load(StepIndex step, std::span<const std::byte> bytes,
                                    const Digest& expected) = 0;

    /// Adds the gradients of these samples to the sum, and returns the sum of their losses; begins
    /// a sum of zeros if there is none. Returns nothing, and leaves the sum as it was, when
    /// `is_interrupted` returns true.
    ///
    /// Errors  DeviceError; after kOutOfMemory the sum is as it was, and fewer samples may succeed
    virtual std::optional<double> add_gradient(const SampleRange& samples,
                                               const IsInterrupted& is_interrupted) = 0;
    /// Returns the sum, zeros if there is none, and ends it.
    virtual GradientSum take_sum() = 0;
    /// Ends the sum.
    virtual void drop_sum() = 0;

    /// Applies the average of one committed round, as ModelState::apply does and with the same
    /// bits on each device. The sum is kept. Requires N elements, usable scalars (aborts).
    virtual state::UpdateReport apply(std::span<const float> average,
                                      const UpdateScalars& scalars) = 0;

    /// The state's digest. Cost: reads the whole state.
    virtual Digest digest() = 0;
    /// Copies the whole state.
    virtual StateCopy copy() = 0;
    /// Shares the whole state with other threads. A device's state is copied to host memory now,
    /// one in host memory only if it is still held when the state changes.
    virtual SharedState share() = 0;

    /// Ends the sum and gives the memory of a device that other programs may want (a GPU) back. The
    /// state is kept, and the next call that needs the memory takes it again.
    virtual void release() = 0;
};

}  // namespace dedloc::training
