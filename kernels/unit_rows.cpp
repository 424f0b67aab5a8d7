#include "kernels/unit_rows.hpp"

#include "kernels/arithmetic.hpp"
#include "kernels/check.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/reduction.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {
namespace {

struct AddRowSquares {
    DEDLOC_LOOP void run(double* lanes, const float* values, std::size_t count) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) lanes[i] += exact_square(values[i]);
    }
};

struct DivideRow {
    DEDLOC_LOOP void run(float* values, std::size_t count, double divisor) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) values[i] = unit_element(values[i], divisor);
    }
};

}  // namespace

void require_unit_rows(std::size_t count, std::uint64_t end) {
    DEDLOC_KERNEL_REQUIRE(end <= count, "a row lies beyond the end of its vector",
                          static_cast<double>(end), static_cast<double>(count));
}

void unit_rows(std::span<float> values, const SegmentTable& rows, const Workers& workers) {
    require_unit_rows(values.size(), rows.end());
    const InstructionSet set = workers.instruction_set();
    auto sums = tensor_sums<1>(
        rows, workers,
        [&](const TensorSegment&, std::size_t first, std::size_t count, auto& lanes) {
            run_for<AddRowSquares>(set, lanes[0].sums.data(), values.data() + first, count);
        });
    const ExactArithmetic exact;
    for (auto& sum : sums) sum[0] = unit_divisor(sum[0]);
    for_each_segment(rows, workers, [&](const TensorSegment& segment) {
        const double divisor = sums[segment.tensor][0];
        if (!(divisor > 0)) return;
        run_for<DivideRow>(set, values.data() + segment.first, std::size_t{segment.count}, divisor);
    });
}

}  // namespace dedloc::kernels
