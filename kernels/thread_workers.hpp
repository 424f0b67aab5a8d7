// Several threads for kernels. The only file of this folder that knows threads; the core of the
// protocol, which has none, does not use it: who owns the process makes one and hands it on.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/workers.hpp"

namespace dedloc::kernels {

/// As many threads as `wanted`, but at least one and no more than this process can run at once; 0:
/// as many as that.
std::size_t threads_within_reach(std::size_t wanted);

/// The calling thread and count − 1 threads of its own, which sleep between kernels.
///
/// Tasks are taken one after the other by whoever is free, so a thread that the system holds up
/// delays its own task only.
///
/// Thread   any; kernels of several callers take turns
/// Errors   std::system_error from the constructor when the system gives no thread
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
