#include "kernels/workers.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>

#include "kernels/digest.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "kernels/unit_rows.hpp"
#include "kernels/weighted_mean.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/encodings.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/one_tensor.hpp"

using namespace dedloc;
using namespace dedloc::kernels;

namespace {

using Floats = std::vector<float>;

/// Appends bytes to the results of all kernels.
template <class T>
void keep(std::vector<std::byte>& trace, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span{values});
    trace.insert(trace.end(), bytes.begin(), bytes.end());
}

/// Runs every kernel once on `count` elements; returns all their outputs and results.
std::vector<std::byte> everything(std::size_t count, const Workers& workers) {
    const Random random{count};
    std::vector<std::byte> trace;
    Floats p = tests::adversarial(random.split(0), count, 1e10);
    Floats m = tests::adversarial(random.split(1), count, 1e-3);
    Floats v(count, 1e-6f);
    const Floats g = tests::adversarial(random.split(2), count, 1e3);
    Floats sum(count);
    for (std::size_t i = 0; i < count; ++i) sum[i] = 0.3f * g[i];
    std::vector<double> numbers{sum_of_squares(sum, workers), global_norm(g, workers),
                                all_finite(g, workers) ? 1.0 : 0.0};
    const Floats half = tests::decoded(tests::Encoding::kHalf, sum, {}, workers);
    const Floats bfloat = tests::decoded(tests::Encoding::kBfloat16, sum, half, workers);
    const Floats decoded = tests::decoded(tests::Encoding::kInt8, sum, bfloat, workers);
    const Floats error = tests::kept_errors(tests::Encoding::kInt8, sum, bfloat, workers);
    Floats mean(count);
    for (std::size_t senders = 1; senders <= 14; ++senders) {
        // 13 senders need two passes: eight, then five.
        if (count > 1000 && senders != 13) continue;
        std::vector<std::span<const float>> parts;
        for (std::size_t k = 0; k < senders; ++k) {
            parts.emplace_back(k % 3 == 0 ? g : k % 3 == 1 ? sum : decoded);
        }
        weighted_mean(parts, std::vector<std::uint64_t>(senders, 5), mean, workers);
        keep(trace, mean);
    }
    const LambScalars lamb_scalars{.element = {0.9f, 0.1f, 0.999f, 0.001f, 1e-6f, 0.01f},
                                   .learning_rate = 1,
                                   .norm_limit = 1e4};
    numbers.push_back(tests::lamb_of_one({p, m, v, mean}, lamb_scalars, {}, workers));
    const SgdScalars sgd_scalars{.element = {.learning_rate = 0.1f, .momentum = 0.9f},
                                 .trust = 0.01};
    numbers.push_back(double{tests::sgd_of_one({p, m, g}, sgd_scalars, workers)});
    const ElementRange middle{.first = count / 3, .count = count / 2};
    numbers.push_back(global_norm(g, std::span{&middle, 1}, workers));
    Floats rows = g;
    unit_rows(rows, tests::rows_of(count, 300), workers);
    keep(trace, rows);
    for (const Floats& values : {sum, half, bfloat, decoded, error, p, m, v}) keep(trace, values);
    keep(trace, numbers);
    const DigestBytes root = tree_digest(trace, workers);
    trace.insert(trace.end(), root.begin(), root.end());
    return trace;
}

}  // namespace

TEST_CASE("every kernel gives the same bytes with every vector unit and 1 to 8 threads",
          "[kernels]") {
    // The last length is three segments and a part of a fourth.
    for (const std::size_t count : {0u, 1u, 3u, 63u, 65u, 65'535u, 65'537u, 200'000u}) {
        const auto expected = everything(count, ThisThread{InstructionSet::kBaseline});
        tests::with_every_worker({1, 2, 3, 8}, [&](const Workers& workers) {
            INFO(count << " elements, " << name_of(workers.instruction_set()));
            CHECK(everything(count, workers) == expected);
        });
    }
}

TEST_CASE("a large mean uses streaming stores and has the same bits", "[kernels]") {
    const std::size_t count = (std::size_t{16} << 20) / 4 + 777;
    const Floats a = tests::ordinary(Random{1}, count);
    const Floats b = tests::ordinary(Random{2}, count);
    Floats whole(count + 3);
    const std::span<float> out = std::span{whole}.subspan(3);
    const std::array<std::span<const float>, 2> parts{a, b};
    tests::with_every_worker({2}, [&](const Workers& workers) {
        std::fill(whole.begin(), whole.end(), 0.0f);
        weighted_mean(parts, std::vector<std::uint64_t>{2, 1}, out, workers);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) {
            volatile float sum = a[i] + b[i];
            wrong += out[i] == sum / 3.0f ? 0u : 1u;
        }
        CHECK(wrong == 0);
    });
    CHECK(whole[2] == 0);
}

TEST_CASE("workers do each task once and return when all are done", "[kernels]") {
    const ThreadWorkers workers{4};
    for (const std::size_t tasks : {0u, 1u, 2u, 5u, 1000u}) {
        std::vector<std::atomic<int>> done(tasks);
        workers.run(tasks, [&](std::size_t i) { ++done[i]; });
        std::size_t wrong = 0;
        for (const auto& times : done) wrong += times == 1 ? 0u : 1u;
        CHECK(wrong == 0);
    }
}

TEST_CASE("workers serve several callers in turn", "[kernels]") {
    const ThreadWorkers workers{3};
    const Floats values = tests::ordinary(Random{3}, 300'000);
    const double expected = global_norm(values);
    std::atomic<int> wrong = 0;
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 3; ++i) {
            callers.emplace_back([&] {
                for (int k = 0; k < 20; ++k) {
                    if (global_norm(values, workers) != expected) ++wrong;
                }
            });
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("threads_within_reach returns at most the hardware's threads", "[kernels]") {
    const std::size_t all = threads_within_reach(0);
    CHECK(all >= 1);
    CHECK(threads_within_reach(1) == 1);
    CHECK(threads_within_reach(all + 1) == all);
    CHECK(threads_within_reach(100'000) == all);
}

TEST_CASE("workers refuse misuse in one sentence", "[kernels]") {
    CHECK(tests::abort_message([] { ThreadWorkers{0}; }).find("1 to 1,024 threads") !=
          std::string::npos);
    CHECK(tests::abort_message([] { ThreadWorkers{1025}; }).find("1 to 1,024 threads") !=
          std::string::npos);
    if (widest_instruction_set() < InstructionSet::kAvx512) {
        CHECK(tests::abort_message([] {
                  ThreadWorkers{1, InstructionSet::kAvx512};
              }).find("lacks the instructions") != std::string::npos);
    }
}
