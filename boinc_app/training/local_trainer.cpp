// The loops of SwarmTrainer without its thread, and the average of a round without its messages.
#include "boinc_app/training/local_trainer.hpp"

#include <vector>

#include "boinc_app/training/task.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/task.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc::training {

LocalTrainer::LocalTrainer(const formats::RunFile& run, const kernels::Workers& workers,
                           Replica& replica, std::uint64_t micro_batch)
    : run_(run),
      workers_(workers),
      replica_(replica),
      micro_batches_(replica, micro_batch, formats::samples_together(run)) {
    replica_.attach();
    replica_.initialise(state::initial_parameters(run));
}

std::optional<LocalStep> LocalTrainer::step(std::span<const Share> shares,
                                            const UpdateScalars& scalars,
                                            const IsInterrupted& is_interrupted) {
    DEDLOC_CHECK(!shares.empty(), "a step needs samples");
    LocalStep step;
    std::vector<FloatVector> sums;
    std::vector<std::uint64_t> weights;
    for (const Share& share : shares) {
        DEDLOC_CHECK(share.samples > Samples{0}, "a share without samples has no weight");
        const std::uint64_t count = share.samples.value();
        double loss_sum = 0;
        for (std::uint64_t first = 0; first < count;) {
            const auto added = micro_batches_.add(share.peer, replica_.step(), first, count - first,
                                                  is_interrupted, share.weights);
            if (!added) {
                replica_.drop_sum();
                return std::nullopt;
            }
            loss_sum += added->loss_sum;
            first += added->count;
        }
        sums.push_back(replica_.take_sum().values);
        step.loss_sum += loss_sum;
        step.samples += share.samples;
        weights.push_back(count);
    }
    FloatVector average(replica_.element_count());
    kernels::weighted_mean(std::vector<std::span<const float>>(sums.begin(), sums.end()), weights,
                           average, workers_);
    step.update = replica_.apply(average, scalars);
    return step;
}

std::optional<LocalStep> LocalTrainer::step(std::span<const Share> shares,
                                            const IsInterrupted& is_interrupted) {
    return step(shares, state::update_scalars(state::optimizer_settings(run_), replica_.step()),
                is_interrupted);
}

}  // namespace dedloc::training
