// One loop, compiled once for each instruction set and chosen at run time. The choice changes no
// bit of any result: a compiler can vectorise the loops without reordering additions, and nothing
// is contracted.
#pragma once

#include <cstdint>

namespace dedloc::kernels {

/// The instruction sets that loops are compiled for, in ascending width.
enum class InstructionSet : std::uint8_t {
    kBaseline,  ///< the one that this build was compiled for; x86-64: SSE2
    kAvx2,      ///< AVX2 and F16C
    kAvx512,    ///< AVX-512 F, BW, DQ and VL
};

/// The name for people.
const char* name_of(InstructionSet set);

/// The widest that this processor and its operating system support. Cost: a load.
InstructionSet widest_instruction_set();

}  // namespace dedloc::kernels

/// A loop's body must be inlined into each of its versions, else it uses the baseline's
/// instructions.
#define DEDLOC_LOOP [[gnu::always_inline]] static inline

/// Placed before a loop whose iterations access different elements, so that it vectorises.
#if defined(__clang__)
#define DEDLOC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DEDLOC_INDEPENDENT _Pragma("GCC ivdep")
#endif

#if defined(__x86_64__)
#define DEDLOC_AVX2 [[gnu::target("avx2,f16c")]]
#define DEDLOC_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#else
#define DEDLOC_AVX2
#define DEDLOC_AVX512
#endif

namespace dedloc::kernels {

/// Loop::run() compiled for the instructions that every processor of this architecture has.
template <class Loop, class... Arguments>
auto run_baseline(Arguments... arguments) {
    return Loop::run(arguments...);
}
/// Loop::run() compiled for AVX2 and F16C, which the processor must have.
template <class Loop, class... Arguments>
DEDLOC_AVX2 auto run_avx2(Arguments... arguments) {
    return Loop::run(arguments...);
}
/// Loop::run() compiled for AVX-512 F, BW, DQ and VL, which the processor must have.
template <class Loop, class... Arguments>
DEDLOC_AVX512 auto run_avx512(Arguments... arguments) {
    return Loop::run(arguments...);
}

/// Loop::run(arguments...), in the version for `set`. Loop lives in an anonymous namespace, its
/// run is a DEDLOC_LOOP, arguments are passed by value.
template <class Loop, class... Arguments>
auto run_for(InstructionSet set, Arguments... arguments) {
    if (set == InstructionSet::kAvx512) return run_avx512<Loop>(arguments...);
    if (set == InstructionSet::kAvx2) return run_avx2<Loop>(arguments...);
    return run_baseline<Loop>(arguments...);
}

}  // namespace dedloc::kernels
