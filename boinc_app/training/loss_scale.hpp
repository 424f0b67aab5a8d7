// The factor that keeps gradients within the range of binary16: the loss is multiplied by it before
// the backward pass, and the gradients are divided by it after. It is a power of two, so neither
// rounds, except for gradients that are denormal in fp32.
//
// Differs from the usual loss scaling, which skips a step whose gradients overflow: here the same
// micro-batch is computed again with half the factor. No sample is ever left out of a sum, which
// would bias it.
#pragma once

namespace dedloc::training {

/// The factor, and how it follows from the gradients that were finite or not.
class LossScale {
  public:
    static constexpr float kFirst = 65'536;         ///< the factor before the first micro-batch
    static constexpr float kMax = 16'777'216;       ///< largest factor
    static constexpr unsigned kGrowthPeriod = 500;  ///< finite gradients until the factor doubles

    /// A power of two from 1 to kMax.
    float value() const { return value_; }

    /// Takes whether the gradients of a micro-batch are finite. Returns true if they count; false:
    /// the micro-batch must be computed again, with the new and smaller value(). Gradients that are
    /// not finite with a factor of 1 count: the model itself has diverged, and a sum that is not
    /// finite tells the coordinator so.
    bool accept(bool is_finite);

  private:
    float value_ = kFirst;
    unsigned finite_ = 0;  // gradients since the value has changed
};

}  // namespace dedloc::training
