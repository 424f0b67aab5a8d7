// Counter-based random numbers: the same seed gives the same numbers on every machine, and a
// generator can be split into independent ones by label. Philox4x32-10 (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011); its published test vectors are in
// tests/peer/base/base_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace dedloc {

/// One block of Philox4x32-10. Cost: 20 multiplications.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// A random seed from the operating system.
std::uint64_t unpredictable_seed();

/// A stream of random numbers. A copy continues from the same position on its own. Not for secrets:
/// keys come from libsodium. Meets the standard's UniformRandomBitGenerator.
class Random {
  public:
    using result_type = std::uint64_t;  ///< type of next() and of operator()
    /// Generators with different seeds or different streams are independent.
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

    /// An independent generator that depends on this one's seed and stream and on `label`, not on
    /// its position.
    Random split(std::uint64_t label) const;

    /// The next 64 random bits.
    std::uint64_t next();
    /// Uniform in [0, bound), without bias. Requires bound ≥ 1 (DEDLOC_CHECK).
    std::uint64_t below(std::uint64_t bound);
    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    double uniform();
    /// Mean 0, variance 1: the sum of 12 uniform numbers − 6, so |x| ≤ 6. It needs additions only,
    /// so every machine computes the same bits.
    double near_normal();

    // What the standard library's algorithms call.
    std::uint64_t operator()() { return next(); }
    static constexpr std::uint64_t min() { return 0; }
    static constexpr std::uint64_t max() { return std::numeric_limits<std::uint64_t>::max(); }

  private:
    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t block_ = 0;
    std::array<std::uint64_t, 2> ready_{};
    unsigned left_ = 0;
};

}  // namespace dedloc
