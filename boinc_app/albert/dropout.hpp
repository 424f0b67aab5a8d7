// Dropout that any machine can repeat: whether an element is kept follows from its sample, its
// place in the model and its index, not from the order in which elements are drawn, the
// micro-batch, its padding or the device.
//
//     bits = 16-bit word e mod 8 of philox4x32(counter {e ÷ 8 low, e ÷ 8 high, site, 0}, key)
//     kept exactly if bits ≥ round(rate × 2¹⁶); kept elements are multiplied by 2¹⁶ ÷ (2¹⁶ − that)
//
// with e the index of the element, site the number of the dropout in the model, and key the 64 bits
// of the sample (MicroBatch::dropout_keys).
#pragma once

#include <cstdint>
#include <span>

namespace dedloc::training::albert {

/// A probability to drop an element, rounded to a multiple of 2⁻¹⁶.
class DropoutRate {
  public:
    /// Requires 0 ≤ probability ≤ formats::kMaxDropout (aborts).
    explicit DropoutRate(double probability);

    /// Nothing is dropped.
    bool is_zero() const { return threshold_ == 0; }
    /// What kept elements are multiplied by, so that the expected value stays the same.
    double scale() const;
    /// 16-bit words below this are dropped.
    std::uint32_t threshold() const { return threshold_; }

  private:
    std::uint32_t threshold_;
};

/// Sets kept[i] to whether element first + i is kept. Cost: one Philox block for 8 elements.
void draw_kept(std::uint64_t key, std::uint32_t site, std::uint64_t first, DropoutRate rate,
               std::span<bool> kept);

}  // namespace dedloc::training::albert
