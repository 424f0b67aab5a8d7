#include "boinc_app/training/host_replica.hpp"

#include <utility>

#include "kernels/finite.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc::training {

HostReplica::HostReplica(const formats::RunFile& run, const Task& task,
                         const kernels::Workers& workers, const Computation& computation)
    : workers_(workers),
      state_(state::tensor_ranges(run), state::optimizer_settings(run)),
      model_(task.make_model(state_.parameters(), computation)) {}

std::size_t HostReplica::element_count() const {
    return static_cast<std::size_t>(state_.element_count());
}

void HostReplica::initialise(std::span<const float> parameters) {
    shares_.before_write();
    state_.initialise(parameters);
}

bool HostReplica::load(StepIndex step, std::span<const std::byte> bytes, const Digest& expected) {
    shares_.before_write();
    return state_.restore(step, bytes, expected, workers_);
}

std::optional<double> HostReplica::add_gradient(const SampleRange& samples,
                                                const IsInterrupted& is_interrupted) {
    if (sum_.empty()) sum_.assign(element_count(), 0.0f);
    return model_->add_gradient(samples, sum_, is_interrupted);
}

GradientSum HostReplica::take_sum() {
    if (sum_.empty()) sum_.assign(element_count(), 0.0f);
    GradientSum sum{.values = std::exchange(sum_, {}), .is_finite = false};
    sum.is_finite = kernels::all_finite(sum.values, workers_);
    return sum;
}

void HostReplica::drop_sum() {
    sum_ = {};
}

state::UpdateReport HostReplica::apply(std::span<const float> average,
                                       const UpdateScalars& scalars) {
    shares_.before_write();
    return state_.apply(average, scalars, workers_);
}

Digest HostReplica::digest() {
    return state_.digest(workers_);
}

StateCopy HostReplica::copy() {
    const auto bytes = state_.bytes();
    return {.bytes = Buffer(bytes.begin(), bytes.end()), .leaves = state_.leaf_digests(workers_)};
}

SharedState HostReplica::share() {
    return {.bytes = shares_.share(), .leaves = state_.leaf_digests(workers_)};
}

}  // namespace dedloc::training
