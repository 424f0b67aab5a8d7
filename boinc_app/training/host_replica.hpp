// The replica that computes on the processor.
#pragma once

#include <memory>

#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/workers.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/copy_on_write.hpp"

namespace dedloc::training {

/// Memory   12 N bytes state (8 N with SGD); 4 N sum, while there is one; what the model needs;
///          another state for each one that is shared and has changed since
class HostReplica final : public Replica {
  public:
    /// `task` and `workers` must outlive it; the workers update and digest the state. The model
    /// uses the compute threads of the calling thread (set_compute_threads). `computation` has no
    /// CUDA device. Errors: InputError, as the task's make_model().
    HostReplica(const formats::RunFile& run, const Task& task, const kernels::Workers& workers,
                const Computation& computation = {});

    // The functions of Replica.
    void attach() override {}
    StepIndex step() const override { return state_.step(); }
    std::size_t element_count() const override;
    void initialise(std::span<const float> parameters) override;
    [[nodiscard]] bool load(StepIndex step, std::span<const std::byte> bytes,
                            const Digest& expected) override;
    std::optional<double> add_gradient(const SampleRange& samples,
                                       const IsInterrupted& is_interrupted) override;
    GradientSum take_sum() override;
    void drop_sum() override;
    state::UpdateReport apply(std::span<const float> average,
                              const UpdateScalars& scalars) override;
    Digest digest() override;
    StateCopy copy() override;
    SharedState share() override;
    void release() override { drop_sum(); }

  private:
    const kernels::Workers& workers_;
    state::ModelState state_;
    platform::CopyOnWrite shares_{state_.bytes()};
    std::unique_ptr<Model> model_;  // reads the parameters of state_
    FloatVector sum_;               // N elements, or none
};

}  // namespace dedloc::training
