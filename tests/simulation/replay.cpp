// Replaces the sum in each frozen contribution by a freshly computed one and passes the result to
// the checkers' average_of(), which encodes, adds and divides as peers do. The order of samples and
// members is the swarm's, so all sums have the same bits.
#include "tests/simulation/replay.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::simulation {

std::vector<Digest> train_alone(const Problem& problem, Codec codec,
                                const std::vector<Round>& rounds) {
    state::ModelState state{problem.tensors(), simulated_optimizer()};
    state.initialise(problem.initial_parameters());
    std::vector<Digest> digests;
    std::deque<FloatVector> former;  // parameters before the last updates, newest first
    for (const Round& round : rounds) {
        DEDLOC_CHECK(round.record.step == state.step(), "rounds have consecutive steps from 0 on",
                     round.record.step.value(), state.step().value());
        std::vector<Frozen> contributions = round.contributions;
        for (Frozen& frozen : contributions) {
            auto sum = std::make_shared<FloatVector>(state.element_count());
            for (const Part& part : frozen.parts) {
                const std::uint64_t age = state.step().value() - part.step.value();
                DEDLOC_CHECK(part.step <= state.step() && age <= former.size(),
                             "a contribution is a few steps older than its round at most", age);
                const auto parameters =
                    age > 0 ? std::span<const float>{former[age - 1]} : state.parameters();
                for (std::uint64_t s = 0; s < part.samples; ++s) {
                    (void)problem.add_gradient(parameters, part.first_sample + s, *sum);
                }
            }
            frozen.contribution.sum = std::move(sum);
        }
        former.emplace_front(state.parameters().begin(), state.parameters().end());
        if (former.size() > wire::kMaxStaleSteps) former.pop_back();
        (void)state.apply(average_of(codec, contributions), round.record.scalars);
        digests.push_back(state.digest());
    }
    return digests;
}

}  // namespace dedloc::simulation
