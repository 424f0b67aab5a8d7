// How the numbers of a round travel, and what rounding takes from them.
//
// fp16      A contribution has one power of two for all its elements, chosen by its norm: no
//           element is beyond the range, and those down to 2⁻²⁸ of the norm keep all 11 bits (plain
//           fp16 loses those of most gradients, which are subnormal). The average's power of two
//           follows from those of its contributions. So neither depends on how a plan cuts the
//           vector, and whoever averages a chunk, in whatever attempt, gets the same bits.
// Twice     A contribution is rounded by its peer, also where it reduces it itself, and the average
//           by its reducer; everybody, the reducer too, goes on with the numbers that travel.
// Feedback  What rounding took from a contribution that was averaged is added to the peer's next
//           one. What it takes from averages is lost: chunks change their reducers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A frozen contribution in pieces as they travel: the same bits whenever, and however often, one
/// is asked for.
class Encoder {
  public:
    Encoder() = default;  ///< of nothing
    /// `residual` is added to the sum, and stays as it is while pieces are asked for; null: nothing
    /// is. Cost with fp16: the sum's norm.
    Encoder(Codec codec, Contribution contribution, SharedFloats residual);

    const Contribution& contribution() const { return contribution_; }
    /// Of all pieces that are halves; 0 with other codecs, and of nothing.
    std::uint8_t exponent() const { return exponent_; }
    /// Elements [first, first + count). Requires a sum, and a range of it. Cost with fp32: none.
    wire::Elements piece(std::uint64_t first, std::uint64_t count) const;

  private:
    friend class Feedback;
    Codec codec_ = Codec::kFp32;
    Contribution contribution_;
    SharedFloats residual_;
    std::uint8_t exponent_ = 0;  ///< of the halves
};

/// What rounding has taken from this peer's contributions. A contribution that is dropped changes
/// nothing: what its sum held is gone with it, and what it was to make up for is still owed.
class Feedback {
  public:
    explicit Feedback(Codec codec) : codec_(codec) {}

    Encoder freeze(Contribution contribution) const;
    /// The last one that was frozen is in an average. Cost with fp16: encoding it whole.
    void counted(Encoder encoder);
    /// It may be in an average or not: begins anew. At most what rounding took of a contribution is
    /// lost, and nothing counts twice.
    void forget() { residual_.reset(); }
    /// N elements; null: nothing is owed.
    SharedFloats residual() const { return residual_; }

  private:
    const Codec codec_;
    std::shared_ptr<FloatVector> residual_;
};

/// The mean over samples of what K contributors sent for the same elements, as it travels back
/// (kernels::weighted_mean, rounded with fp16); the exponent of encode() for it. Requires pieces of
/// one codec, each with as many elements as `out`, in member order.
std::uint8_t average_of(std::span<const wire::Elements> pieces,
                        std::span<const std::uint64_t> weights, std::span<float> out);

/// Whether no number is infinite or NaN. Cost: one pass over them.
bool is_finite(const wire::Elements& elements);

/// The numbers themselves. Requires as many.
void decode(const wire::Elements& elements, std::span<float> out);

/// A piece of an average that everybody holds: what decode() made these values of.
wire::Elements encode(Codec codec, SharedFloats average, std::span<const float> values,
                      std::uint8_t exponent);

}  // namespace dedloc::round
