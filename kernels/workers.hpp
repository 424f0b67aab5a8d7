// The part of a machine that a kernel may use: threads and instruction set. Neither changes a bit
// of any result, because work is divided by the length of the data alone.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

/// A reference to a callable that does task number i. The callable must outlive it.
class TaskView {
  public:
    template <class Task, std::enable_if_t<!std::is_same_v<Task, TaskView>, int> = 0>
    TaskView(const Task& task)
        : task_(&task), call_([](const void* erased, std::size_t index) {
              (*static_cast<const Task*>(erased))(index);
          }) {}
    void operator()(std::size_t index) const { call_(task_, index); }

  private:
    const void* task_;
    void (*call_)(const void*, std::size_t);
};

/// Runs the tasks of kernels.
class Workers {
  public:
    virtual ~Workers() = default;

    /// The instruction set of the kernels' loops; the processor must support it.
    virtual InstructionSet instruction_set() const = 0;

    /// Calls task(0) to task(tasks − 1), each once, in any order and on any of its threads; returns
    /// when all are done.
    ///
    /// Requires  the task does not throw and does not itself call run
    virtual void run(std::size_t tasks, TaskView task) const = 0;
};

/// Runs all tasks on the calling thread; the default of all kernels.
class ThisThread final : public Workers {
  public:
    explicit ThisThread(InstructionSet set = widest_instruction_set()) : set_(set) {}
    InstructionSet instruction_set() const override { return set_; }
    void run(std::size_t tasks, TaskView task) const override {
        for (std::size_t i = 0; i < tasks; ++i) task(i);
    }

  private:
    InstructionSet set_;
};

}  // namespace dedloc::kernels
