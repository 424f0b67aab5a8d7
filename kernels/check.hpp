// Checks against wrong use. Kernels include nothing of the repository, so they have a check of
// their own. Wrong use is a bug, and a wrong gradient is worse than a crash.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>

namespace dedloc::kernels {

/// Prints place, sentence and values to stderr and aborts.
[[noreturn]] void require_failed(const char* file, int line, const char* sentence,
                                 std::initializer_list<double> values);

/// Whether two spans share an element.
template <class A, class B>
bool overlap(std::span<A> a, std::span<B> b) {
    const std::less<const void*> before;
    const void* const a_begin = a.data();
    const void* const b_begin = b.data();
    const void* const a_end = a.data() + a.size();
    const void* const b_end = b.data() + b.size();
    return !a.empty() && !b.empty() && before(a_begin, b_end) && before(b_begin, a_end);
}

}  // namespace dedloc::kernels

/// DEDLOC_KERNEL_REQUIRE(condition, "sentence", numbers...): aborts with the numbers when
/// `condition` is false.
#define DEDLOC_KERNEL_REQUIRE(condition, sentence, ...)                                     \
    do {                                                                                    \
        if (!(condition)) [[unlikely]] {                                                    \
            ::dedloc::kernels::require_failed(__FILE__, __LINE__, sentence, {__VA_ARGS__}); \
        }                                                                                   \
    } while (false)
