// The model state: parameters and optimizer moments after a number of updates. Equal inputs give
// equal bits on every machine, so comparing one digest shows whether two peers hold the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/state/step_tables.hpp"
#include "peer/state/update_scalars.hpp"

namespace dedloc::state {

/// Digest of a state: BLAKE2b over its step and the root of the digest tree over parameters and
/// moments (ModelState::bytes), with leaves of 256 KiB.
Digest state_digest(StepIndex step, std::span<const std::byte> bytes,
                    const kernels::Workers& workers = kernels::ThisThread{});
/// The same digest from the leaves' digests. Requires as many leaves as an array of `total_bytes`
/// has (aborts).
Digest state_digest(StepIndex step, std::span<const Digest> leaves, std::uint64_t total_bytes);

/// What one update did, for the log.
struct UpdateReport {
    bool was_applied = false;  ///< false: the average was not finite; only the step has advanced
    double gradient_norm = 0;  ///< norm of the average before clipping
    float clip_factor = 1;     ///< factor applied to the average; 1: not clipped
};

/// Parameters, the optimizer's moments and the step. Not thread-safe.
///
/// Memory: state_vectors() vectors of N floats, one after the other: params ‖ m ‖ v for LAMB,
/// params ‖ momentum for SGD. Their address is constant and a multiple of 64 bytes, so tensors of a
/// training library can be views of the parameters. Only apply, initialise and restore write them.
///
/// Padding: the elements between tensors are part of N, of bytes() and of the digest. They are zero
/// and stay so: initialise and apply write tensors only, whatever an average holds beside them.
///
/// Frozen tensors (TensorRange::frozen_steps) and their moments stay as they are, and their part of
/// an average counts neither for its norm nor for whether it is finite. So the step decides which
/// tensors an update changes, and a restored state goes on as the whole one does.
///
/// Functions that read or write the whole state take the threads that they may use. The result has
/// the same bits with any number of threads.
class ModelState {
  public:
    /// Makes a state of zeros at step 0. Requires tensors that cover [0, N) in order, each with its
    /// padding, N ≥ 1, and usable settings (aborts).
    ModelState(const std::vector<TensorRange>& tensors, const OptimizerSettings& settings);
    ModelState(const ModelState&) = delete;
    ModelState& operator=(const ModelState&) = delete;

    /// Resets to step 0 with these parameters and zero moments. Ignores what is in the padding;
    /// rows of TensorRange::row_length get length 1. Requires N elements (aborts).
    void initialise(std::span<const float> parameters);

    /// Applies the average of one committed round: computes its norm and the clip factor, runs the
    /// optimizer on all tensors that are not frozen, scales their rows of unit length and
    /// increments the step. The norm is that of all N elements but the frozen ones; honest peers
    /// send zeros in the padding.
    ///
    /// An average that is not finite (a sum of finite gradients may overflow) changes only the
    /// step. Every peer sees the same bytes, so every peer skips the same update.
    ///
    /// Requires  N elements, usable scalars (aborts)
    /// Cost      about 44 bytes of memory traffic per element for LAMB, 24 for SGD, 32 with LARC
    UpdateReport apply(std::span<const float> average, const UpdateScalars& scalars,
                       const kernels::Workers& workers = kernels::ThisThread{});

    /// Replaces the state by this one if its size is right and its digest is `expected`. Returns
    /// false, and changes nothing, otherwise.
    [[nodiscard]] bool restore(StepIndex step, std::span<const std::byte> bytes,
                               const Digest& expected,
                               const kernels::Workers& workers = kernels::ThisThread{});

    /// Number of updates that the state has seen.
    StepIndex step() const { return step_; }
    /// N, the number of parameters with the padding.
    std::uint64_t element_count() const { return count_; }
    /// Number of vectors of N floats: the parameters and the optimizer's moments.
    std::uint32_t vector_count() const { return state_vectors(settings_.optimizer); }
    /// The parameters with their padding, N floats.
    std::span<const float> parameters() const { return std::span{values_}.first(count_); }
    /// The memory of all vectors (little-endian fp32). Valid until the next change; copy it to
    /// keep a snapshot.
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span{values_}); }
    /// Size of bytes(): 4 N for each vector.
    std::uint64_t byte_count() const { return values_.size() * sizeof(float); }

    /// The state's digest. Reads all bytes at every call.
    Digest digest(const kernels::Workers& workers = kernels::ThisThread{}) const;
    /// The leaves of its digest tree: entry i is the digest of bytes
    /// [i × 256 KiB, (i + 1) × 256 KiB).
    std::vector<Digest> leaf_digests(const kernels::Workers& workers = kernels::ThisThread{}) const;

  private:
    /// The vector with this index; 0: the parameters.
    std::span<float> vector(std::size_t index);

    const OptimizerSettings settings_;
    const std::size_t count_;  ///< N
    StepTables tables_;        ///< the tensors
    AlignedFloats values_;     ///< parameters, then the moments
    StepIndex step_{};
};

}  // namespace dedloc::state
