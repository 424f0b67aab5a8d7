#include "kernels/global_norm.hpp"

#include <cmath>

#include "kernels/arithmetic.hpp"
#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {
namespace {

struct AddSquares {
    DEDLOC_LOOP void run(double* lanes, const float* values, std::size_t count) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) lanes[i] += exact_square(values[i]);
    }
};

}  // namespace

void require_length(std::size_t count) {
    DEDLOC_KERNEL_REQUIRE(count <= kMaxElements, "more elements than a reduction can take",
                          static_cast<double>(count));
}

double sum_of_squares(std::span<const float> values, const Workers& workers) {
    require_length(values.size());
    return tree_sums<1>(values.size(), workers,
                        [&](std::size_t first, std::size_t count, auto& lanes) {
                            run_for<AddSquares>(workers.instruction_set(), lanes[0].sums.data(),
                                                values.data() + first, count);
                        })[0];
}

double global_norm(std::span<const float> values, const Workers& workers) {
    const ExactArithmetic exact;
    // Volatile, or a compiler might compute the root after the thread's own rounding is restored.
    const volatile double norm = std::sqrt(sum_of_squares(values, workers));
    return norm;
}

float clip_factor(double norm, float limit) {
    DEDLOC_KERNEL_REQUIRE(std::isfinite(norm) && norm >= 0, "a norm must be finite", norm);
    DEDLOC_KERNEL_REQUIRE(is_finite(limit) && limit >= 0,
                          "a norm limit must be finite and positive", static_cast<double>(limit));
    const auto wide_limit = static_cast<double>(limit);
    if (limit <= 0 || norm <= wide_limit) return 1.0f;
    const ExactArithmetic exact;
    // Volatile, or a compiler might divide while the thread's own rounding is in force.
    const volatile double divisor = norm;
    const volatile float factor = static_cast<float>(wide_limit / divisor);
    return factor;
}

}  // namespace dedloc::kernels
