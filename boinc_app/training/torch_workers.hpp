// libtorch's own compute threads as the workers of a kernel, so that kernels between libtorch's
// operations do not wake a second set of threads on the same processors.
#pragma once

#include "kernels/workers.hpp"

namespace dedloc::training {

/// Runs tasks on libtorch's compute threads, as many as the calling thread has
/// (set_compute_threads). Thread: any.
class TorchWorkers final : public kernels::Workers {
  public:
    kernels::InstructionSet instruction_set() const override {
        return kernels::widest_instruction_set();
    }
    void run(std::size_t tasks, kernels::TaskView task) const override;
};

}  // namespace dedloc::training
