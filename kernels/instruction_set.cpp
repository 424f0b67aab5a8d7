#include "kernels/instruction_set.hpp"

namespace dedloc::kernels {

const char* name_of(InstructionSet set) {
    switch (set) {
        case InstructionSet::kAvx2:
            return "AVX2";
        case InstructionSet::kAvx512:
            return "AVX-512";
        case InstructionSet::kBaseline:
            break;
    }
    return "baseline";
}

InstructionSet widest_instruction_set() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return InstructionSet::kAvx512;
    }
    if (__builtin_cpu_supports("avx2")) return InstructionSet::kAvx2;
#endif
    return InstructionSet::kBaseline;
}

}  // namespace dedloc::kernels
