// Host kernels compared with memcpy, on 1 and 2 threads. Each is first verified against the
// baseline on one thread, then measured in turn with memcpy on the same threads, with the same
// number of tries, so that a slow phase of the machine affects both. Rates are bytes per wall time,
// and per processor time of a thread, which other programs disturb less; the best of all tries
// counts. Prints, and fails only if a kernel gives other bytes.
//
// Optimizers update the tensors of ALBERT-large in one call.
//
//     kernels_bench [elements...]     default: ALBERT-large's 17,847,490 and 67,108,864 (3 GiB)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/digest.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "kernels/thread_workers.hpp"
#include "kernels/unit_rows.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/random.hpp"
#include "tests/bench/albert_large.hpp"
#include "tests/bench/lamb_scalars.hpp"

namespace {

using namespace dedloc;
using kernels::Workers;
using Clock = std::chrono::steady_clock;
using Floats = std::vector<float>;

constexpr std::size_t kSenders = 8;
constexpr double kCopyBytes = 8;  ///< per element, read and written
constexpr int kRounds = 15;

/// Inputs and outputs of the kernels: 44 bytes an element.
struct Arena {
    explicit Arena(std::size_t elements)
        : count(elements),
          table(bench::albert_large(elements)),
          ratios(table.tensors().size()),
          rates(table.tensors().size()) {
        Random random{elements};
        for (std::size_t k = 0; k < kSenders; ++k) parts.emplace_back(count);
        for (Floats& part : parts) {
            for (float& x : part) x = 1e-2f * static_cast<float>(random.uniform() - 0.5);
        }
        reset();
    }

    /// Resets the outputs, so that equal kernels give equal digests.
    void reset() {
        out.assign(count, 0.5f);
        m.assign(count, 0.25f);
        v.assign(count, 1e-4f);
    }

    kernels::DigestBytes digest() const {
        const kernels::ThreadWorkers all{2};
        const std::vector<kernels::DigestBytes> digests{
            kernels::tree_digest(std::as_bytes(std::span{out}), all),
            kernels::tree_digest(std::as_bytes(std::span{m}), all),
            kernels::tree_digest(std::as_bytes(std::span{v}), all)};
        return kernels::tree_digest(std::as_bytes(std::span{digests}));
    }

    static void verify(bool is_right) {
        if (is_right) return;
        std::fprintf(stderr, "kernels_bench: a kernel gave something else than it must\n");
        std::exit(1);
    }

    std::size_t count;
    kernels::SegmentTable table;
    std::vector<double> ratios;
    std::vector<float> rates;
    std::vector<Floats> parts;
    Floats out, m, v;
};

/// The best of many tries.
struct Best {
    double passed = 1e30;  ///< seconds of wall time
    double busy = 1e30;    ///< seconds of processor time per thread
};

struct Line {
    const char* name;
    double bytes_an_element;
    const char* goal;  ///< percent of memcpy's byte rate
    std::function<double(Arena&, const Workers&)> run;
    Best best{};
    Best copied{};  ///< the memcpy before each try
};

/// Copies like the kernels: segment by segment, shared among the threads.
void copy(Arena& a, const Workers& workers) {
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    const std::size_t bytes = 4 * a.count;
    auto* const to = reinterpret_cast<std::byte*>(a.out.data());
    const auto* const from = reinterpret_cast<const std::byte*>(a.parts[0].data());
    workers.run((bytes + kPiece - 1) / kPiece, [&](std::size_t piece) {
        const std::size_t first = piece * kPiece;
        std::memcpy(to + first, from + first, std::min(kPiece, bytes - first));
    });
}

template <std::size_t kCount>
double mean(Arena& a, const Workers& workers) {
    const auto end = a.parts.begin() + std::ptrdiff_t{kCount};
    const std::vector<std::span<const float>> views(a.parts.begin(), end);
    kernels::weighted_mean(views, std::vector<std::uint64_t>(kCount, 32), a.out, workers);
    return 0;
}

double truth(bool is_right) {
    Arena::verify(is_right);
    return 1;
}

std::vector<Line> all_lines() {
    using A = Arena;
    using W = Workers;
    using kernels::LambVariant;
    const auto lamb = [](LambVariant variant) {
        return [scalars = bench::lamb_scalars(variant)](A& a, const W& w) {
            kernels::lamb({a.out, a.m, a.v, a.parts[3]}, a.table, scalars, a.ratios, w);
            return std::accumulate(a.ratios.begin(), a.ratios.end(), 0.0);
        };
    };
    const kernels::SgdScalars sgd{.element = {.learning_rate = 1e-3f, .momentum = 0.9f},
                                  .trust = 1e-3};
    return {
        {"memcpy", kCopyBytes, "", [](A& a, const W& w) { return copy(a, w), 0; }},
        {"weighted_mean K=2", 12, "80", mean<2>},
        {"weighted_mean K=8", 4 * (kSenders + 1), "80", mean<kSenders>},
        {"lamb A", 40, "60", lamb(LambVariant::kStepDebiased)},
        {"lamb B", 40, "60", lamb(LambVariant::kMomentsDebiased)},
        {"sgd with LARC", 28, "",
         [sgd](A& a, const W& w) {
             kernels::sgd({a.out, a.m, a.parts[3]}, a.table, sgd, a.rates, w);
             return std::accumulate(a.rates.begin(), a.rates.end(), 0.0);
         }},
        {"unit_rows, the tensors", 12, "",
         [](A& a, const W& w) { return kernels::unit_rows(a.out, a.table, w), 0; }},
        {"global_norm", 4, "",
         [](A& a, const W& w) { return kernels::global_norm(a.parts[2], w); }},
        {"all_finite", 4, "",
         [](A& a, const W& w) { return truth(kernels::all_finite(a.parts[3], w)); }},
        {"tree_digest", 4, "",
         [](A& a, const W& w) {
             const auto root = kernels::tree_digest(std::as_bytes(std::span{a.parts[5]}), w);
             return static_cast<double>(std::to_integer<int>(root[0]));
         }},
    };
}

/// Whether the bytes are those of the baseline on one thread.
void verify(Arena& arena, const std::vector<Line>& lines, const Workers& workers) {
    const kernels::ThisThread plain{kernels::InstructionSet::kBaseline};
    for (const Line& line : lines) {
        arena.reset();
        const double expected = line.run(arena, plain);
        const kernels::DigestBytes digest = arena.digest();
        arena.reset();
        Arena::verify(line.run(arena, workers) == expected && arena.digest() == digest);
    }
}

/// Runs the case once more and keeps the best times.
template <class Run>
void time_once(Best& best, std::size_t threads, const Run& run) {
    const auto begin = Clock::now();
    const std::clock_t begin_busy = std::clock();
    run();
    const double busy = static_cast<double>(std::clock() - begin_busy) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> passed = Clock::now() - begin;
    best.passed = std::min(best.passed, passed.count());
    best.busy = std::min(best.busy, busy / static_cast<double>(threads));
}

void measure(std::size_t count, std::size_t threads) {
    const kernels::ThreadWorkers workers{threads};
    std::vector<Line> lines = all_lines();
    {
        Arena sample{std::min<std::size_t>(count, 1'000'003)};
        verify(sample, lines, workers);
    }
    Arena arena{count};
    for (int round = 0; round < kRounds; ++round) {
        for (Line& line : lines) {
            time_once(line.copied, threads, [&] { copy(arena, workers); });
            time_once(line.best, threads, [&] { line.run(arena, workers); });
        }
    }
    std::printf("\n%zu elements, %zu thread(s), %s, verified, best of %d\n", count, threads,
                name_of(workers.instruction_set()), kRounds);
    std::printf("%-20s %7s %9s | %7s %8s | %9s %8s | %5s\n", "kernel", "B/elem", "ms", "GB/s",
                "/memcpy", "CPU GB/s", "/memcpy", "goal");
    for (const Line& line : lines) {
        const double bytes = line.bytes_an_element * static_cast<double>(count);
        const double copied = kCopyBytes * static_cast<double>(count);
        std::printf("%-20s %7.0f %9.2f | %7.2f %7.0f%% | %9.2f %7.0f%% | %5s\n", line.name,
                    line.bytes_an_element, line.best.passed * 1e3, bytes / line.best.passed / 1e9,
                    100 * bytes / copied * line.copied.passed / line.best.passed,
                    bytes / line.best.busy / 1e9,
                    100 * bytes / copied * line.copied.busy / line.best.busy, line.goal);
    }
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    // 67,108,864 elements are 256 MiB a vector; eight senders read 2 GiB.
    std::vector<std::size_t> counts{bench::kAlbertLargeElements, 67'108'864};
    if (argc > 1) counts.clear();
    for (int i = 1; i < argc; ++i) {
        counts.push_back(std::strtoull(argv[i], nullptr, 10));
        if (counts.back() == 0 || counts.back() > counts.max_size()) {
            std::fprintf(stderr, "usage: kernels_bench [elements...]\n");
            return 2;
        }
    }
    for (const std::size_t count : counts) {
        for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) measure(count, threads);
    }
    return 0;
}
