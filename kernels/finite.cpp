#include "kernels/finite.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic.hpp"
#include "kernels/reduction.hpp"

namespace dedloc::kernels {
namespace {

/// Elements between two reads of the flag: enough to vectorise, few enough to stop early.
constexpr std::size_t kBlock = 16'384;

struct CountBad {
    DEDLOC_LOOP std::uint32_t run(const float* values, std::size_t count, float limit) {
        std::uint32_t bad = 0;
        for (std::size_t i = 0; i < count; ++i) bad += std::fabs(values[i]) < limit ? 0u : 1u;
        return bad;
    }
};

}  // namespace

bool all_finite(std::span<const float> values, const Workers& workers) {
    return all_below(values, std::numeric_limits<float>::infinity(), workers);
}

bool all_below(std::span<const float> values, float limit, const Workers& workers) {
    std::atomic<bool> is_every_one_below{true};
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        for (std::size_t done = 0; done < count && is_every_one_below; done += kBlock) {
            const std::uint32_t bad =
                run_for<CountBad>(workers.instruction_set(), values.data() + first + done,
                                  std::min(kBlock, count - done), limit);
            if (bad != 0) is_every_one_below = false;
        }
    });
    return is_every_one_below;
}

}  // namespace dedloc::kernels
