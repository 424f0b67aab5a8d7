#include "peer/simulation/replay.hpp"

#include <cstdint>
#include <span>

#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"

namespace dedloc::simulation {

std::vector<Digest> train_alone(const Problem& problem, const std::vector<Round>& rounds) {
    state::ModelState state{problem.tensors(), simulated_lamb()};
    state.initialise(problem.initial_parameters());
    std::vector<Digest> digests;
    for (const Round& round : rounds) {
        DEDLOC_CHECK(round.record.step == state.step(), "rounds follow each other",
                     round.record.step.value(), state.step().value());
        std::vector<FloatVector> sums;
        std::vector<std::uint64_t> weights;
        for (const Frozen& frozen : round.contributions) {
            FloatVector& sum = sums.emplace_back(state.element_count());
            weights.push_back(frozen.contribution.samples.value());
            for (std::uint64_t s = 0; s < weights.back(); ++s) {
                (void)problem.add_gradient(state.parameters(), frozen.first_sample + s, sum);
            }
        }
        const std::vector<std::span<const float>> parts{sums.begin(), sums.end()};
        FloatVector average(state.element_count());
        kernels::weighted_mean(parts, weights, average);
        (void)state.apply(average, round.record.scalars);
        digests.push_back(state.digest());
    }
    return digests;
}

}  // namespace dedloc::simulation
