// The replica on a GPU. Parameters, moments, sum and average are in the device's memory, where the
// model computes and the update runs; states and sums go through the host in pieces. Its updates
// have the bits of HostReplica; its gradients do not.
#pragma once

#include <memory>
#include <optional>

#include "boinc_app/training/accelerator.hpp"
#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/staged_copies.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/workers.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/state/step_tables.hpp"

namespace dedloc::training {

/// Memory   on the device 12 N bytes state (8 N with SGD), 4 N sum, 4 N average, and what the model
///          needs; on the host two staging buffers, and the state while the device's memory is
///          released
class DeviceReplica final : public Replica {
  public:
    /// Takes the device's memory. `task` and `workers` must outlive it; the workers digest the
    /// state. The model computes as `computation` says, usually the device's own. Attaches the
    /// calling thread. Errors: InputError, as the task's make_model(); DeviceError.
    DeviceReplica(const formats::RunFile& run, const Task& task, const kernels::Workers& workers,
                  std::unique_ptr<Accelerator> device, const Computation& computation);
    ~DeviceReplica() override;

    // The functions of Replica.
    void attach() override { device_->attach(); }
    StepIndex step() const override { return step_; }
    std::size_t element_count() const override { return count_; }
    void initialise(std::span<const float> parameters) override;
    [[nodiscard]] bool load(StepIndex step, std::span<const std::byte> bytes,
                            const Digest& expected) override;
    std::optional<double> add_gradient(const SampleRange& samples,
                                       const IsInterrupted& is_interrupted) override;
    GradientSum take_sum() override;
    void drop_sum() override { has_sum_ = false; }
    state::UpdateReport apply(std::span<const float> average,
                              const UpdateScalars& scalars) override;
    Digest digest() override;
    StateCopy copy() override;
    SharedState share() override;
    void release() override;

  private:
    struct Held;

    /// What is in the device's memory; takes that memory if it was released.
    Held& held();
    std::size_t state_bytes() const;
    /// Gives the device the tables of the next update, if it has others.
    void send_tables();
    void write_state(std::span<const std::byte> bytes);
    /// Calls `take` with the bytes of the state, in pieces.
    void read_state(const TakePiece& take);

    const formats::RunFile run_;
    const Task& task_;
    const kernels::Workers& workers_;
    const state::OptimizerSettings settings_;
    state::StepTables tables_;
    const std::size_t count_;  // N
    const std::unique_ptr<Accelerator> device_;
    const Computation computation_;
    std::unique_ptr<Held> held_;  // null while the device's memory is released
    Buffer parked_;               // the state, while the device's memory is released
    StepIndex step_{};
    bool has_sum_ = false;
    bool has_tables_ = false;  // the device has those of tables_
};

}  // namespace dedloc::training
