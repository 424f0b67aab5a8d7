#include "kernels/global_norm.hpp"

#include <algorithm>
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

/// The first range that does not end before this element.
const ElementRange* range_at(std::span<const ElementRange> ranges, std::uint64_t element) {
    const auto found = std::partition_point(
        ranges.begin(), ranges.end(),
        [&](const ElementRange& range) { return range.first + range.count <= element; });
    return ranges.data() + (found - ranges.begin());
}

void require_ranges(std::span<const ElementRange> ranges, std::uint64_t count) {
    std::uint64_t end = 0;
    for (const ElementRange& range : ranges) {
        DEDLOC_KERNEL_REQUIRE(range.first >= end, "the ranges of a vector overlap or descend",
                              static_cast<double>(range.first), static_cast<double>(end));
        DEDLOC_KERNEL_REQUIRE(range.first <= count && range.count <= count - range.first,
                              "a range lies beyond the end of its vector",
                              static_cast<double>(range.first), static_cast<double>(range.count),
                              static_cast<double>(count));
        end = range.first + range.count;
    }
}

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

double global_norm(std::span<const float> values, std::span<const ElementRange> ignored,
                   const Workers& workers) {
    require_length(values.size());
    require_ranges(ignored, values.size());
    const ElementRange* const none = ignored.data() + ignored.size();
    const double squares = tree_sums<1>(
        values.size(), workers, [&](std::size_t first, std::size_t count, auto& lanes) {
            // Adds the elements of the row between the ranges, each to its own lane.
            const auto add = [&](std::uint64_t from, std::uint64_t to) {
                if (from >= to) return;
                run_for<AddSquares>(workers.instruction_set(),
                                    lanes[0].sums.data() + (from - first), values.data() + from,
                                    static_cast<std::size_t>(to - from));
            };
            const std::uint64_t end = first + count;
            std::uint64_t next = first;
            for (auto range = range_at(ignored, first); range != none && range->first < end;
                 ++range) {
                add(next, range->first);
                next = range->first + range->count;
            }
            add(next, end);
        })[0];
    const ExactArithmetic exact;
    // Volatile, or a compiler might compute the root after the thread's own rounding is restored.
    const volatile double norm = std::sqrt(squares);
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
