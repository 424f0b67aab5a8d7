#include "tests/kernels/slow_reference.hpp"

#include <cmath>

namespace dedloc::tests::slow {
namespace {

float times(float a, float b) {
    volatile float result = a * b;
    return result;
}
float plus(float a, float b) {
    volatile float result = a + b;
    return result;
}
float minus(float a, float b) {
    volatile float result = a - b;
    return result;
}
float over(float a, float b) {
    volatile float result = a / b;
    return result;
}
float root(float a) {
    volatile float result = std::sqrt(a);
    return result;
}

/// Sum of a row of doubles by the rule, with all the padding really there.
double tree(std::vector<double> row) {
    while (true) {
        std::vector<double> sums;
        row.resize((row.size() + 65535) / 65536 * 65536, 0.0);
        for (std::size_t segment = 0; segment < row.size(); segment += 65536) {
            std::vector<double> lanes(1024, 0.0);
            for (std::size_t i = 0; i < 65536; ++i) {
                volatile double next = lanes[i % 1024] + row[segment + i];
                lanes[i % 1024] = next;
            }
            while (lanes.size() > 1) {
                std::vector<double> half(lanes.size() / 2);
                for (std::size_t i = 0; i < half.size(); ++i) {
                    half[i] = lanes[i] + lanes[i + half.size()];
                }
                lanes = half;
            }
            sums.push_back(lanes[0]);
        }
        // A row that was one segment has been folded once more below: with zeros, so unchanged.
        if (sums.size() <= 1) return sums.empty() ? 0.0 : sums[0];
        row = sums;
    }
}

float direction(float p, float m, float v, const LambInput& in) {
    return plus(over(m, plus(root(v), in.epsilon)), times(in.weight_decay, p));
}

}  // namespace

double tree_of_squares(const Floats& values) {
    std::vector<double> squares;
    for (const float x : values) {
        volatile double square = static_cast<double>(x) * static_cast<double>(x);
        squares.push_back(double{square});
    }
    return tree(squares);
}

void lamb(Floats& p, Floats& m, Floats& v, const Floats& gradient, const LambInput& in) {
    Floats u(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
        const float g = times(in.clip_factor, gradient[i]);
        m[i] = plus(times(in.beta1, m[i]), times(in.one_minus_beta1, g));
        v[i] = plus(times(in.beta2, v[i]), times(in.one_minus_beta2, times(g, g)));
        u[i] = direction(p[i], m[i], v[i], in);
    }
    double p_norm = std::sqrt(tree_of_squares(p));
    if (p_norm > in.norm_limit) p_norm = in.norm_limit;
    const double u_norm = std::sqrt(tree_of_squares(u));
    volatile double ratio = 1;
    if (p_norm > 0 && u_norm > 0) ratio = p_norm / u_norm;
    volatile double wide = in.step_size * ratio;
    const auto factor = static_cast<float>(wide);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = minus(p[i], times(factor, u[i]));
}

}  // namespace dedloc::tests::slow
