#include "kernels/instruction_set.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dedloc::kernels {
namespace {

InstructionSet find_widest() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return InstructionSet::kAvx512;
    }
    // clang's __builtin_cpu_supports does not know F16C.
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    if (__builtin_cpu_supports("avx2") && has_f16c) return InstructionSet::kAvx2;
#endif
    return InstructionSet::kBaseline;
}

}  // namespace

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
    static const InstructionSet widest = find_widest();
    return widest;
}

}  // namespace dedloc::kernels
