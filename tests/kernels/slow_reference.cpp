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

/// Rounded up to whole segments.
std::size_t padded(std::size_t count) {
    return (count + 65535) / 65536 * 65536;
}

/// The sum of a row of doubles by the rule, with explicit padding.
double tree(std::vector<double> row) {
    while (true) {
        std::vector<double> sums;
        row.resize(padded(row.size()), 0.0);
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
        // A row of one segment is folded once more below: with zeros, so it does not change.
        if (sums.size() <= 1) return sums.empty() ? 0.0 : sums[0];
        row = sums;
    }
}

float direction(float p, float m, float v, const LambInput& in) {
    const float mean = in.debiases_moments ? over(m, in.first_correction) : m;
    const float square = in.debiases_moments ? over(v, in.second_correction) : v;
    return plus(over(mean, plus(root(square), in.epsilon)), times(in.weight_decay, p));
}

}  // namespace

double tree_of_squares(const Floats& values) {
    std::vector<double> squares;
    squares.reserve(padded(values.size()));
    for (const float x : values) {
        volatile double square = static_cast<double>(x) * static_cast<double>(x);
        squares.push_back(double{square});
    }
    return tree(squares);
}

double accumulate(Floats& sum, const Floats& gradient, float scale) {
    Floats terms;
    terms.reserve(sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
        terms.push_back(times(scale, gradient[i]));
        sum[i] = plus(sum[i], terms[i]);
    }
    return tree_of_squares(terms);
}

Floats mean(const std::vector<Floats>& parts, float samples) {
    Floats result = parts.at(0);
    for (std::size_t i = 0; i < result.size(); ++i) {
        for (std::size_t k = 1; k < parts.size(); ++k) result[i] = plus(result[i], parts[k][i]);
        result[i] = over(result[i], samples);
    }
    return result;
}

float added(float a, float b) {
    return plus(a, b);
}
float subtracted(float a, float b) {
    return minus(a, b);
}
float multiplied(float a, float b) {
    return times(a, b);
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
    if (in.adapts && p_norm > 0 && u_norm > 0) ratio = p_norm / u_norm;
    volatile double wide = in.step_size * ratio;
    const auto factor = static_cast<float>(wide);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = minus(p[i], times(factor, u[i]));
}

void sgd(Floats& p, Floats& b, const Floats& gradient, const SgdInput& in) {
    Floats g;
    g.reserve(gradient.size());
    for (const float x : gradient) g.push_back(times(in.clip_factor, x));
    const double p_norm = std::sqrt(tree_of_squares(p));
    const double g_norm = std::sqrt(tree_of_squares(g));
    float decay = in.weight_decay;
    volatile double wide = 1;
    if (in.trust > 0 && (p_norm == 0 || g_norm == 0)) {
        decay = 0;
    } else if (in.trust > 0) {
        volatile double decayed = double{decay} * p_norm;
        volatile double divisor = g_norm + decayed;
        divisor = divisor + in.epsilon;
        volatile double length = in.trust * p_norm;
        wide = length / divisor;
    }
    const auto rate = static_cast<float>(wide);
    for (std::size_t i = 0; i < p.size(); ++i) {
        const float d = times(rate, plus(g[i], times(decay, p[i])));
        b[i] = plus(times(in.momentum, b[i]), d);
        p[i] = minus(p[i], times(in.learning_rate, b[i]));
    }
}

void unit_row(Floats& row) {
    const double norm = std::sqrt(tree_of_squares(row));
    if (norm == 0 || !std::isfinite(norm)) return;
    for (float& x : row) {
        volatile double quotient = static_cast<double>(x) / norm;
        volatile float rounded = static_cast<float>(quotient);
        x = rounded;
    }
}

}  // namespace dedloc::tests::slow
