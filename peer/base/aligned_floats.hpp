// A vector of floats that begins at a multiple of 64 bytes: a cache line, and the widest vector of
// an x86 processor. Matrix libraries round by the alignment of their operands, so parameters that a
// model reads in place must have the same alignment in every process.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dedloc {

/// The alignment of AlignedFloats, in bytes.
inline constexpr std::size_t kFloatsAlignment = 64;

/// The standard allocator, but with kFloatsAlignment. All objects are equal.
template <class Value>
struct AlignedAllocator {
    using value_type = Value;  ///< what the standard library asks for

    AlignedAllocator() = default;
    /// The standard library makes allocators of other types from this one.
    template <class Other>
    explicit AlignedAllocator(const AlignedAllocator<Other>&) {}

    /// Memory for `count` values. Errors: std::bad_alloc.
    Value* allocate(std::size_t count) {
        return static_cast<Value*>(
            ::operator new (count * sizeof(Value), std::align_val_t{kFloatsAlignment}));
    }
    /// Returns what allocate() gave.
    void deallocate(Value* memory, std::size_t) {
        ::operator delete (memory, std::align_val_t{kFloatsAlignment});
    }
    bool operator==(const AlignedAllocator&) const = default;
};

/// Floats at a multiple of kFloatsAlignment bytes.
using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

}  // namespace dedloc
