// The floating-point environment in which equal inputs give equal bits. A library linked with
// -ffast-math, or a caller, may have set this thread to flush denormals to zero or to another
// rounding mode. That would change results: moments decay where the gradient is exactly zero, and
// become denormal after some 700 steps.
#pragma once

#include <cfenv>

namespace dedloc::kernels {

/// While an object lives, this thread rounds to nearest-even and keeps denormals. Every exact
/// kernel creates one.
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
