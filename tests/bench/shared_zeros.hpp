// Memory for the vectors of a thousand simulated peers in one process. Replaces operator new and
// delete of the program that it is linked into.
#pragma once

#include <cstdint>

namespace dedloc::bench {

/// Elements of a page of memory: the size of a shared vector is a multiple of it.
inline constexpr std::uint64_t kPageElements = 1'024;

/// From now on, in an allocation of one to four vectors of so many floats, only the first page of
/// each vector is its own. All other pages of all these vectors are the same page, which holds
/// zeros: a vector may differ from zero in its first kPageElements only. Ask holds_zeros() at the
/// end whether this was so. Call it once, before there are other threads. Requires a multiple of
/// kPageElements, two pages or more, and memory for one vector (DEDLOC_CHECK).
void share_zeros(std::uint64_t elements);

/// Whether the shared pages still hold zeros. Requires share_zeros() (DEDLOC_CHECK).
bool holds_zeros();

}  // namespace dedloc::bench
