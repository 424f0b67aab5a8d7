// Replaces the sum in each frozen contribution by a freshly computed one and passes the result to
// the checkers' average_of(), which encodes, adds and divides as peers do. The order of samples and
// members is the swarm's, so all sums have the same bits.
#include "peer/simulation/replay.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::simulation {

std::vector<Digest> train_alone(const Problem& problem, Codec codec,
                                const std::vector<Round>& rounds) {
    state::ModelState state{problem.tensors(), simulated_optimizer()};
    state.initialise(problem.initial_parameters());
    std::vector<Digest> digests;
    FloatVector former;  // parameters before the last update
    for (const Round& round : rounds) {
        DEDLOC_CHECK(round.record.step == state.step(), "rounds have consecutive steps from 0 on",
                     round.record.step.value(), state.step().value());
        std::vector<Frozen> contributions = round.contributions;
        for (Frozen& frozen : contributions) {
            auto sum = std::make_shared<FloatVector>(state.element_count());
            for (const Part& part : frozen.parts) {
                const bool is_delayed = part.step != state.step();
                DEDLOC_CHECK(!is_delayed || part.step.next() == state.step(),
                             "a contribution is at most one step older than its round");
                const auto parameters =
                    is_delayed ? std::span<const float>{former} : state.parameters();
                for (std::uint64_t s = 0; s < part.samples; ++s) {
                    (void)problem.add_gradient(parameters, part.first_sample + s, *sum);
                }
            }
            frozen.contribution.sum = std::move(sum);
        }
        former.assign(state.parameters().begin(), state.parameters().end());
        (void)state.apply(average_of(codec, contributions), round.record.scalars);
        digests.push_back(state.digest());
    }
    return digests;
}

}  // namespace dedloc::simulation
