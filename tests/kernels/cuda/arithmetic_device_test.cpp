// Compares the arithmetic that only device kernels use, and the second level of the summation rule,
// with plain double arithmetic.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/cuda/host_launch.hpp"
#include "kernels/cuda/segment_sums.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;

namespace {

/// A Finish of TotalSums that stores the only total.
struct StoreTotal {
    double* total;
    void operator()(const double (&totals)[1]) const { *total = totals[0]; }
};

/// Values around the denormals, and every exponent with several kinds of mantissas.
template <class Use>
void for_many_floats(const Use& use) {
    Random random{11};
    for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
        for (std::uint32_t i = 0; i < 20'000; ++i) {
            const std::uint32_t mantissa = i < 64 ? i
                                           : i < 128
                                               ? 0x7fffff - (i - 64)
                                               : static_cast<std::uint32_t>(random.below(0x800000));
            use(std::bit_cast<float>((i & 1) << 31 | exponent << 23 | mantissa));
        }
    }
}

/// s[i] += s[i + h] for h = 512 … 1, over lanes that add every 1,024th in order.
double by_the_rule(const std::vector<double>& row) {
    std::vector<double> lanes(1024);
    for (std::size_t i = 0; i < row.size(); ++i) lanes[i % 1024] += row[i];
    for (std::size_t half = 512; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
}

}  // namespace

TEST_CASE("moving a float's bits into a double is widening it", "[cuda]") {
    std::size_t wrong = 0;
    for_many_floats([&](float x) {
        const double wide = kernels::widened_magnitude(x);
        const double expected = std::fabs(static_cast<double>(x));
        wrong += std::isnan(x) ? !std::isnan(wide) : !same_double(wide, expected);
    });
    CHECK(wrong == 0);
}

TEST_CASE("adding a square in one fused operation rounds as adding the exact square", "[cuda]") {
    std::size_t wrong = 0;
    double sum = 0;
    for_many_floats([&](float x) {
        if (!std::isfinite(x)) return;
        const double wide = x;
        const double square = wide * wide;
        const double apart = sum + square;
        wrong += same_double(std::fma(wide, wide, sum), apart) ? 0u : 1u;
        wrong += same_double(kernels::cuda::add_square(sum, x), apart) ? 0u : 1u;
        sum = apart > 1e60 ? 0 : apart;
    });
    CHECK(wrong == 0);
}

TEST_CASE("the sums of more segments than there are lanes are added by the rule", "[cuda]") {
    using namespace kernels::cuda;
    CUstream_st stream{1};
    for (const std::size_t segments : {0u, 1u, 1023u, 1024u, 1025u, 3000u, 65'536u}) {
        std::vector<double> sums(segments);
        Random random{segments};
        for (double& sum : sums) sum = std::exp2(40 * random.uniform());
        double total = -1;
        const TotalSums<1, StoreTotal> body{sums.data(), segments, {&total}};
        CHECK(launch(body, &stream) == 0);
        CHECK(same_double(total, by_the_rule(sums)));
    }
}
