// The loops of SwarmTrainer without its thread, and the average of a round without its messages.
#include "boinc_app/training/local_trainer.hpp"

#include <algorithm>
#include <vector>

#include "kernels/weighted_mean.hpp"
#include "peer/base/check.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc::training {

LocalTrainer::LocalTrainer(const formats::RunFile& run, std::span<const formats::Shard> shards,
                           const kernels::Workers& workers, std::size_t micro_batch)
    : run_(run),
      workers_(workers),
      micro_batch_(micro_batch),
      sampler_(run, shards),
      state_(state::tensor_ranges(run), state::optimizer_settings(run)),
      model_(run, state_.parameters()) {
    DEDLOC_CHECK(micro_batch >= 1, "a micro-batch has at least one sample");
    state_.initialise(state::initial_parameters(run));
}

std::optional<LocalStep> LocalTrainer::step(std::span<const Share> shares,
                                            const UpdateScalars& scalars,
                                            const Albert::IsInterrupted& is_interrupted) {
    DEDLOC_CHECK(!shares.empty(), "a step needs samples");
    LocalStep step;
    std::vector<FloatVector> sums;
    std::vector<std::uint64_t> weights;
    for (const Share& share : shares) {
        DEDLOC_CHECK(share.samples > Samples{0}, "a share without samples has no weight");
        FloatVector& sum = sums.emplace_back(static_cast<std::size_t>(state_.element_count()));
        const Random random = step_random(run_.seed, share.peer, state_.step());
        const std::uint64_t count = share.samples.value();
        double loss_sum = 0;
        for (std::uint64_t first = 0; first < count; first += micro_batch_) {
            const auto size = std::min<std::uint64_t>(micro_batch_, count - first);
            const auto loss = model_.add_gradient(
                sampler_.draw(random, first, static_cast<std::size_t>(size)), sum, is_interrupted);
            if (!loss) return std::nullopt;
            loss_sum += *loss;
        }
        step.loss_sum += loss_sum;
        step.samples += share.samples;
        weights.push_back(count);
    }
    FloatVector average(static_cast<std::size_t>(state_.element_count()));
    kernels::weighted_mean(std::vector<std::span<const float>>(sums.begin(), sums.end()), weights,
                           average, workers_);
    step.update = state_.apply(average, scalars, workers_);
    return step;
}

std::optional<LocalStep> LocalTrainer::step(std::span<const Share> shares,
                                            const Albert::IsInterrupted& is_interrupted) {
    return step(shares, state::update_scalars(state::optimizer_settings(run_), state_.step()),
                is_interrupted);
}

}  // namespace dedloc::training
