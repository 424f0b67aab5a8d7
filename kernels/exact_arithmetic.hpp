// The floating-point environment in which equal inputs give equal bits. A library linked with
// -ffast-math, or a caller that wants speed, may have switched this thread to flush denormals to
// zero or to another rounding; moments that decay where the gradient is exactly zero do become
// denormal after some 700 steps, so this matters.
#pragma once

#include <cfenv>

namespace dedloc::kernels {

/// While one lives, this thread rounds to nearest-even and keeps denormals. Every exact kernel
/// makes one.
class ExactArithmetic {
  public:
    ExactArithmetic() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~ExactArithmetic() { std::fesetenv(&before_); }
    ExactArithmetic(const ExactArithmetic&) = delete;
    ExactArithmetic& operator=(const ExactArithmetic&) = delete;

  private:
    std::fenv_t before_;
};

}  // namespace dedloc::kernels
