// Codecs of the all-reduce: how contributions and averages are rounded for the wire, and how the
// rounding error of contributions is fed back.
//
// fp16      A contribution has one power of two as scale for all its elements, chosen by its norm:
//           no element overflows, and elements down to 2⁻²⁸ of the norm keep all 11 bits (plain
//           fp16 loses bits of most gradients, which are subnormal there). The scale of the average
//           follows from the scales of its contributions.
// bf16      8 bits of each element, in fp32's range: no scale.
// int8      Every 64 elements, counted from the vector's begin, share a power of two: the smallest
//           one with which their largest fits in 7 bits and a sign. All numbers are finite.
// Bits      No scale depends on how a plan cuts the vector (int8: at multiples of 64), so every
//           reducer of a chunk, in every attempt, computes the same bits.
// Twice     A peer rounds its contribution, also for chunks that it reduces itself; a reducer
//           rounds the average. All peers, the reducer too, continue with the rounded numbers.
// Feedback  The rounding error of a contribution that was averaged is added to the peer's next one.
//           The rounding error of an average is lost, because chunks change their reducers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// Encodes a frozen contribution piece by piece. A piece has the same bits each time it is encoded.
class Encoder {
  public:
    /// Encodes an empty contribution without samples.
    Encoder() = default;
    /// `residual` is added to the sum and must not change while pieces are encoded; null: none.
    /// Cost with fp16: the sum's norm; with int8: one pass over sum and residual.
    Encoder(Codec codec, Contribution contribution, SharedFloats residual);

    /// The contribution before rounding and without the residual.
    const Contribution& contribution() const { return contribution_; }
    /// wire::Join::exponent: with fp16 that of all pieces, with int8 the largest of any block; 0
    /// with other codecs and without a sum.
    std::uint8_t exponent() const { return exponent_; }
    /// Encodes elements [first, first + count). Requires a sum, and a range inside it; with int8,
    /// that `first` is a multiple of 64, and `count` as well unless the range ends the sum. Cost
    /// with fp32: none, the piece shares the sum; else one pass.
    wire::Elements piece(std::uint64_t first, std::uint64_t count) const;

  private:
    friend class Feedback;
    Codec codec_ = Codec::kFp32;
    Contribution contribution_;
    SharedFloats residual_;
    std::uint8_t exponent_ = 0;  ///< exponent()
};

/// Error feedback: keeps the rounding error (residual) of this peer's contributions and adds it to
/// the next one. A contribution that is dropped leaves the residual as it was. With fp32 there is
/// none.
class Feedback {
  public:
    explicit Feedback(Codec codec) : codec_(codec) {}

    /// Encoder of this contribution with the present residual.
    Encoder freeze(Contribution contribution) const;
    /// The contribution that was frozen last is in an average: its rounding error is the new
    /// residual. Cost, except with fp32: one pass over sum and residual.
    void counted(Encoder encoder);
    /// The contribution may or may not be in an average: drops the residual. At most the rounding
    /// error of one contribution is lost, and nothing counts twice.
    void forget() { residual_.reset(); }
    /// N elements; null: no residual.
    SharedFloats residual() const { return residual_; }

  private:
    const Codec codec_;
    std::shared_ptr<FloatVector> residual_;
};

/// Writes to `out` the mean, weighted by samples, of the pieces that K contributors sent for the
/// same elements, rounded as it will travel (kernels::weighted_mean, then rounded by the codec).
/// Returns the exponent that encode() needs for it. Requires pieces of one codec, each as long as
/// `out`, in member order.
std::uint8_t average_of(std::span<const wire::Elements> pieces,
                        std::span<const std::uint64_t> weights, std::span<float> out);

/// True if no number is infinite or NaN. Cost: one pass over the elements; int8: none.
bool is_finite(const wire::Elements& elements);

/// True if the sum of as many such pieces as a round has members is finite.
/// Cost: one pass over the elements; int8: none.
bool is_summable(const wire::Elements& elements);

/// True if a contribution with this Join::exponent may have this piece: halves have the same
/// exponent, no int8 block has a larger one.
bool is_as_joined(const wire::Elements& elements, std::uint8_t exponent);

/// Writes the elements to `out` as fp32, and returns true if they are finite; else `out` may hold
/// anything. Requires that `out` is as long. Cost: one pass over elements and `out`; fp16: another
/// one over the elements.
bool decode(const wire::Elements& elements, std::span<float> out);

/// Inverse of decode() for a piece `values` of `average`, which is already rounded: returns
/// elements that decode() to the same values. With fp16, `exponent` is that of the elements which
/// the values were decoded from; else 0.
wire::Elements encode(Codec codec, SharedFloats average, std::span<const float> values,
                      std::uint8_t exponent);

}  // namespace dedloc::round
