// Several threads for kernels. This is the only file of the folder that uses threads. The core of
// the protocol, which has no threads, does not create one: the process creates it and passes it on.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// `wanted`, but at least 1 and at most the number of threads that this process can run at once;
/// 0: that number.
std::size_t threads_within_reach(std::size_t wanted);

/// The calling thread and count − 1 threads of its own, which sleep between kernels.
///
/// Each free thread takes the next task, so a thread that the system delays delays only its own
/// task.
///
/// Thread   any; kernels of several callers take turns
/// Errors   std::system_error from the constructor if a thread cannot be created
class ThreadWorkers final : public Workers {
  public:
    /// Requires  1 ≤ count ≤ 1,024; the processor has `set`      (aborts)
    explicit ThreadWorkers(std::size_t count, InstructionSet set = widest_instruction_set());
    ~ThreadWorkers() override;
    ThreadWorkers(const ThreadWorkers&) = delete;
    ThreadWorkers& operator=(const ThreadWorkers&) = delete;

    InstructionSet instruction_set() const override { return set_; }
    void run(std::size_t tasks, TaskView task) const override;

  private:
    class Pool;
    InstructionSet set_;
    std::unique_ptr<Pool> pool_;
};

}  // namespace dedloc::kernels
