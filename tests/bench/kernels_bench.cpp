// Host kernels beside memcpy, measured in turn in the same run on one core. Prints, asserts
// nothing.
//
//     kernels_bench [elements]        default: ALBERT-large's 17,847,474
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/accumulate.hpp"
#include "kernels/digest.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/random.hpp"
#include "peer/state/model_state.hpp"

namespace {

using namespace dedloc;
using Clock = std::chrono::steady_clock;

struct Line {
    const char* name;
    double bytes_an_element;
    std::function<void()> run;
    double best_seconds = 1e30;
};

FloatVector noise(std::uint64_t seed, std::size_t count, float scale) {
    Random random{seed};
    FloatVector values(count);
    for (float& x : values) x = scale * static_cast<float>(random.uniform() - 0.5);
    return values;
}

/// The fastest of several rounds; all lines in every round, so that a slow spell hits them alike.
void measure(std::vector<Line>& lines) {
    constexpr int kRounds = 7;
    for (int round = 0; round < kRounds; ++round) {
        for (Line& line : lines) {
            const auto begin = Clock::now();
            line.run();
            const std::chrono::duration<double> took = Clock::now() - begin;
            line.best_seconds = std::min(line.best_seconds, took.count());
        }
    }
}

kernels::LambScalars lamb_scalars_for_bench() {
    return {.element = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.999f,
                        .one_minus_beta2 = 0.001f,
                        .epsilon = 1e-6f,
                        .weight_decay = 0.01f},
            .step_size = 1e-3,
            .norm_limit = 10'000};
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 17'847'474;
    if (count == 0) {
        std::fprintf(stderr, "usage: kernels_bench [elements]\n");
        return 2;
    }
    constexpr std::size_t kSenders = 8;
    std::vector<FloatVector> parts;
    for (std::size_t k = 0; k < kSenders; ++k) parts.push_back(noise(k, count, 1e-2f));
    const std::vector<std::span<const float>> views(parts.begin(), parts.end());
    const std::vector<std::uint64_t> weights(kSenders, 32);
    FloatVector out(count);
    FloatVector p = noise(9, count, 0.05f);
    FloatVector m(count);
    FloatVector v(count);
    const auto scalars = lamb_scalars_for_bench();
    double sink = 0;

    state::ModelState model{{{.offset = 0, .count = count, .decays = true}}, {.total_steps = 1000}};
    model.initialise(p);
    const auto update = state::lamb_scalars({.total_steps = 1000}, StepIndex{0});

    std::vector<Line> lines{
        {"memcpy", 8, [&] { std::memcpy(out.data(), parts[0].data(), 4 * count); }},
        {"accumulate", 12,
         [&] { sink += kernels::accumulate(out, parts[1], 0.5f).sum_of_squares; }},
        {"weighted_mean K=8", 4 * (kSenders + 1),
         [&] { kernels::weighted_mean(views, weights, out); }},
        {"global_norm", 4, [&] { sink += kernels::global_norm(parts[2]); }},
        {"clip", 8, [&] { kernels::clip(out, 0.99f); }},
        {"all_finite", 4, [&] { sink += kernels::all_finite(parts[3]) ? 1 : 0; }},
        {"lamb", 40, [&] { sink += kernels::lamb(p, m, v, parts[4], scalars); }},
        {"tree_digest", 4,
         [&] {
             const auto root = kernels::tree_digest(std::as_bytes(std::span{parts[5]}));
             sink += std::to_integer<int>(root[0]);
         }},
        {"ModelState::apply", 44, [&] { sink += model.apply(parts[6], update).gradient_norm; }},
        {"ModelState::digest", 12, [&] { sink += std::to_integer<int>(model.digest().bytes[0]); }},
    };
    measure(lines);
    const double copy = 8 * static_cast<double>(count) / lines[0].best_seconds;
    std::printf("%zu elements, best of 7, one core\n%-20s %8s %10s %8s %8s\n", count, "kernel",
                "B/elem", "ms", "GB/s", "/memcpy");
    for (const Line& line : lines) {
        const double rate = line.bytes_an_element * static_cast<double>(count) / line.best_seconds;
        std::printf("%-20s %8.0f %10.2f %8.2f %7.0f%%\n", line.name, line.bytes_an_element,
                    line.best_seconds * 1e3, rate / 1e9, 100 * rate / copy);
    }
    return sink == 0 ? 1 : 0;
}
