#include "kernels/finite.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/reduction.hpp"

namespace dedloc::kernels {
namespace {

/// Elements between two reads of the flag: enough to vectorise, few enough to stop early.
constexpr std::size_t kBlock = 16'384;

struct CountBad {
    DEDLOC_LOOP std::uint32_t run(const float* values, std::size_t count) {
        std::uint32_t bad = 0;
        for (std::size_t i = 0; i < count; ++i) bad += is_finite(values[i]) ? 0u : 1u;
        return bad;
    }
};

}  // namespace

bool all_finite(std::span<const float> values, const Workers& workers) {
    std::atomic<bool> is_every_one_finite{true};
    for_each_segment(values.size(), workers, [&](std::size_t first, std::size_t count) {
        for (std::size_t done = 0; done < count && is_every_one_finite; done += kBlock) {
            const std::uint32_t bad =
                run_for<CountBad>(workers.instruction_set(), values.data() + first + done,
                                  std::min(kBlock, count - done));
            if (bad != 0) is_every_one_finite = false;
        }
    });
    return is_every_one_finite;
}

}  // namespace dedloc::kernels
