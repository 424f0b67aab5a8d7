// The numbers of one optimizer step that depend on more than the gradient. The coordinator computes them once and
// sends their bits, so that no peer's libm has a say in the result (facts: pow and exp differ between libms).
#pragma once

#include <cstdint>

namespace dedloc::state {

/// Each field holds the bits of a binary32 number (std::bit_cast<float>).
struct UpdateScalars {
    std::uint32_t learning_rate = 0;
    std::uint32_t bias_correction = 0;  ///< √(1 − β₂ᵗ) / (1 − β₁ᵗ), LAMB variant A
    bool operator==(const UpdateScalars&) const = default;
};

}  // namespace dedloc::state
