// Every part of this machine that a kernel may be given: each width of the vector unit, with one
// thread and with several.
#pragma once

#include <initializer_list>
#include <iostream>

#include "kernels/thread_workers.hpp"

namespace dedloc::tests {

/// Calls use(workers) for every width that this processor has and every number of threads; says
/// once what it lacks.
template <class Use>
void with_every_worker(std::initializer_list<std::size_t> thread_counts, const Use& use) {
    using kernels::InstructionSet;
    for (const InstructionSet set :
         {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
        if (set > kernels::widest_instruction_set()) {
            static bool has_said = false;
            if (!has_said) {
                std::cout << "skipped: " << name_of(set) << " was not tried, this processor has "
                          << name_of(kernels::widest_instruction_set()) << " at most\n";
            }
            has_said = true;
            continue;
        }
        for (const std::size_t threads : thread_counts) {
            use(kernels::ThreadWorkers{threads, set});
        }
    }
}

}  // namespace dedloc::tests
