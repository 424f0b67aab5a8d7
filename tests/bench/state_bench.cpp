// Cost of a step for a peer that holds the state: the update and the digest of ALBERT-large's
// 17,847,474 parameters, with 1, 2, 4 … threads up to the machine's number, in turn. Wall times;
// the best of many counts, so that other programs disturb little. Fails if the number of threads
// changes the state.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "kernels/thread_workers.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/model_state.hpp"
#include "peer/state/run_state.hpp"
#include "tests/peer/state/average_digest.hpp"

namespace {

using namespace dedloc;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 11;

std::vector<state::TensorRange> albert_large() {
    const formats::AlbertSpec model{.vocabulary = 30'000,
                                    .embedding = 128,
                                    .hidden = 1024,
                                    .layers = 24,
                                    .heads = 16,
                                    .ffn = 4096,
                                    .positions = 512};
    formats::RunFile run;
    run.tensors = formats::albert_tensors(model);
    return state::tensor_ranges(run);
}

FloatVector drawn(std::uint64_t seed, std::size_t count) {
    Random random{seed};
    FloatVector values(count);
    for (float& x : values) x = 0.02f * static_cast<float>(random.uniform() - 0.5);
    return values;
}

template <class Work>
void keep_best(double& best, const Work& work) {
    const auto begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
}

/// One state, and the best times of its steps in milliseconds.
struct Holder {
    explicit Holder(std::size_t threads) : workers(threads), count(threads) {}

    void step(const FloatVector& average, const UpdateScalars& scalars) {
        keep_best(apply, [&] { state.apply(average, scalars, workers); });
        keep_best(digest, [&] { root = state.digest(workers); });
        keep_best(average_digest, [&] { state::average_digest(average, workers); });
    }

    const kernels::ThreadWorkers workers;
    const std::size_t count;
    const state::OptimizerSettings settings{.total_steps = 1000};
    state::ModelState state{albert_large(), settings};
    Digest root;
    double apply = 1e30, digest = 1e30, average_digest = 1e30;
};

}  // namespace

int main() {
    std::vector<std::unique_ptr<Holder>> holders;
    for (std::size_t threads = 1; threads <= kernels::threads_within_reach(0); threads *= 2) {
        holders.push_back(std::make_unique<Holder>(threads));
    }
    const auto elements = static_cast<std::size_t>(holders.front()->state.element_count());
    const FloatVector average = drawn(1, elements);
    const FloatVector start = drawn(2, elements);
    for (const auto& holder : holders) holder->state.initialise(start);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        const auto scalars = state::update_scalars(holders.front()->settings, StepIndex{round});
        for (const auto& holder : holders) holder->step(average, scalars);
    }
    std::printf("%zu elements, best of %d, milliseconds\n%8s %10s %10s %10s %16s\n", elements,
                kRounds, "threads", "update", "digest", "both", "average's digest");
    for (const auto& holder : holders) {
        std::printf("%8zu %10.1f %10.1f %10.1f %16.1f\n", holder->count, holder->apply,
                    holder->digest, holder->apply + holder->digest, holder->average_digest);
        if (holder->root == holders.front()->root) continue;
        std::fprintf(stderr, "state_bench: threads have changed the state\n");
        return 1;
    }
    return 0;
}
