// What training has produced so far: parameters and optimizer state after some number of updates.
// Equal inputs give equal bits on every machine, so one digest tells whether two peers hold the
// same model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/state/update_scalars.hpp"

namespace dedloc::state {

/// One tensor's place in the flat parameter vector.
struct TensorRange {
    std::uint64_t offset = 0;  ///< in elements
    std::uint64_t count = 0;
    bool decays = false;  ///< weight decay applies
    bool operator==(const TensorRange&) const = default;
};

/// Digest of a state: of its step and of the tree over params ‖ m ‖ v (`bytes` below), 256 KiB a
/// leaf.
Digest state_digest(StepIndex step, std::span<const std::byte> bytes,
                    const kernels::Workers& workers = kernels::ThisThread{});
/// The same from the leaves, for who receives them one by one. Requires as many leaves as
/// total_bytes has (aborts).
Digest state_digest(StepIndex step, std::span<const Digest> leaves, std::uint64_t total_bytes);

/// What one update did, for the log.
struct UpdateReport {
    bool was_applied = false;  ///< false: the average was not finite; only the step has advanced
    double gradient_norm = 0;  ///< of the average, before clipping
    float clip_factor = 1;
};

/// Parameters, both LAMB moments and the step. One owner thread.
///
/// Memory: 3 vectors, one after the other: params ‖ m ‖ v, N floats each. Their address is
/// constant, so tensors of a training library can be views of the parameters; only apply,
/// initialise and restore write them.
///
/// What reads or writes all of it takes the threads it may use; they change no bit.
class ModelState {
  public:
    /// All zero at step 0. Requires ranges that cover [0, N) in order without gaps, N ≥ 1, and
    /// usable settings (aborts).
    ModelState(std::vector<TensorRange> tensors, const LambSettings& settings);
    ModelState(const ModelState&) = delete;
    ModelState& operator=(const ModelState&) = delete;

    /// Back to step 0 with these parameters and zero moments. Requires N parameters (aborts).
    void initialise(std::span<const float> parameters);

    /// The update of one committed round: norm of the average, clip factor, then LAMB tensor by
    /// tensor; step + 1.
    ///
    /// An average that is not finite (a sum of finite gradients may overflow) changes nothing but
    /// the step: every peer sees the same bytes, so every peer skips the same update.
    ///
    /// Requires  N elements, usable scalars (aborts)
    /// Cost      about 44 bytes of memory traffic an element
    UpdateReport apply(std::span<const float> average, const UpdateScalars& scalars,
                       const kernels::Workers& workers = kernels::ThisThread{});

    /// Takes over somebody's state if its size is right and its digest is `expected`; else false
    /// and nothing changes.
    [[nodiscard]] bool restore(StepIndex step, std::span<const std::byte> bytes,
                               const Digest& expected,
                               const kernels::Workers& workers = kernels::ThisThread{});

    StepIndex step() const { return step_; }
    std::uint64_t element_count() const { return count_; }
    std::span<const float> parameters() const { return std::span{values_}.first(count_); }
    /// For a library that wants mutable memory for tensors it only reads.
    std::span<float> parameters_for_views() { return std::span{values_}.first(count_); }
    /// params ‖ m ‖ v as they lie in memory (little-endian fp32), until the next change. Copy it to
    /// keep a snapshot.
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span{values_}); }
    std::uint64_t byte_count() const { return values_.size() * sizeof(float); }

    /// Computed anew at every call, reading all bytes.
    Digest digest(const kernels::Workers& workers = kernels::ThisThread{}) const;
    /// Leaf i is the digest of bytes [i × 256 KiB, (i + 1) × 256 KiB).
    std::vector<Digest> leaf_digests(const kernels::Workers& workers = kernels::ThisThread{}) const;

  private:
    const std::vector<TensorRange> tensors_;
    const LambSettings settings_;
    const std::size_t count_;
    FloatVector values_;
    StepIndex step_{};
};

}  // namespace dedloc::state
