#include "kernels/accumulate.hpp"

#include <atomic>
#include <cstdint>

#include "kernels/check.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {
namespace {

struct AccumulateRow {
    /// Returns the number of new sums that are not finite.
    template <class Element>
    DEDLOC_LOOP std::uint32_t run(float* sum, const Element* gradient, double* squares,
                                  std::size_t count, float scale) {
        std::uint32_t bad = 0;
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
            const float term = scale * to_float(gradient[i]);
            const float next = sum[i] + term;
            sum[i] = next;
            squares[i] += exact_square(term);
            bad += is_finite(next) ? 0u : 1u;
        }
        return bad;
    }
};

}  // namespace

template <class Element>
void require_accumulate(std::span<const float> sum, std::span<const Element> gradient,
                        float scale) {
    DEDLOC_KERNEL_REQUIRE(sum.size() == gradient.size(),
                          "the gradient has another length than its sum",
                          static_cast<double>(gradient.size()), static_cast<double>(sum.size()));
    DEDLOC_KERNEL_REQUIRE(sum.size() <= kMaxElements, "more elements than a reduction can take",
                          static_cast<double>(sum.size()));
    DEDLOC_KERNEL_REQUIRE(is_finite(scale), "the scale of a gradient must be finite",
                          static_cast<double>(scale));
    DEDLOC_KERNEL_REQUIRE(!overlap(sum, gradient), "the gradient overlaps its sum");
}

template void require_accumulate(std::span<const float>, std::span<const float>, float);
template void require_accumulate(std::span<const float>, std::span<const Half>, float);
template void require_accumulate(std::span<const float>, std::span<const Bfloat16>, float);

namespace {

template <class Element>
Accumulated accumulate_any(std::span<float> sum, std::span<const Element> gradient, float scale,
                           const Workers& workers) {
    require_accumulate<Element>(sum, gradient, scale);
    std::atomic<bool> is_every_one_finite{true};
    const auto squares =
        tree_sums<1>(sum.size(), workers, [&](std::size_t first, std::size_t count, auto& lanes) {
            const std::uint32_t bad =
                run_for<AccumulateRow>(workers.instruction_set(), sum.data() + first,
                                       gradient.data() + first, lanes[0].sums.data(), count, scale);
            if (bad != 0) is_every_one_finite = false;
        });
    return {.sum_of_squares = squares[0], .is_finite = is_every_one_finite};
}

}  // namespace

Accumulated accumulate(std::span<float> sum, std::span<const float> gradient, float scale,
                       const Workers& workers) {
    return accumulate_any(sum, gradient, scale, workers);
}

Accumulated accumulate(std::span<float> sum, std::span<const Half> gradient, float scale,
                       const Workers& workers) {
    return accumulate_any(sum, gradient, scale, workers);
}

Accumulated accumulate(std::span<float> sum, std::span<const Bfloat16> gradient, float scale,
                       const Workers& workers) {
    return accumulate_any(sum, gradient, scale, workers);
}

}  // namespace dedloc::kernels
