// All workers of this machine for a kernel: each instruction set, with one thread and with several.
#pragma once

#include <initializer_list>
#include <iostream>
#include <memory>
#include <vector>

#include "kernels/thread_workers.hpp"

namespace dedloc::tests {

/// The instruction sets that this processor has; prints once those that it lacks.
inline std::vector<kernels::InstructionSet> every_width() {
    using kernels::InstructionSet;
    static bool has_said = false;
    std::vector<InstructionSet> widths;
    for (const InstructionSet set :
         {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
        if (set <= kernels::widest_instruction_set()) {
            widths.push_back(set);
        } else if (!has_said) {
            has_said = true;
            std::cout << "skipped: " << name_of(set) << " was not tried, this processor has "
                      << name_of(kernels::widest_instruction_set()) << " at most\n";
        }
    }
    return widths;
}

/// Calls use(workers) for every instruction set and every number of threads.
template <class Use>
void with_every_worker(std::initializer_list<std::size_t> thread_counts, const Use& use) {
    for (const kernels::InstructionSet set : every_width()) {
        for (const std::size_t threads : thread_counts) {
            use(kernels::ThreadWorkers{threads, set});
        }
    }
}

/// The same workers at every step.
struct Always {
    const kernels::Workers& workers;
    const kernels::Workers& operator()(std::size_t) const { return workers; }
};

/// Rows longer than this switch the instruction set at every step; shorter ones also run all steps
/// with each.
inline constexpr std::size_t kLongChain = 1000;

/// All instruction sets in turns of three steps, so that inputs that repeat every second, third,
/// fourth or eighth step meet each of them within seventy steps.
class WidthsByTurns {
  public:
    explicit WidthsByTurns(std::size_t threads) {
        for (const kernels::InstructionSet set : every_width()) {
            workers_.push_back(std::make_unique<kernels::ThreadWorkers>(threads, set));
        }
    }
    const kernels::Workers& operator()(std::size_t step) const {
        return *workers_[step / 3 % workers_.size()];
    }

  private:
    std::vector<std::unique_ptr<kernels::ThreadWorkers>> workers_;
};

}  // namespace dedloc::tests
