// Building blocks of the bodies of device kernels. A body is the work of one block of 256 threads,
// divided into phases: all threads finish a phase before any begins the next, and then they see
// each other's writes to `Shared`; `Local` is private to a thread. Nothing here needs a device. A
// host test runs the same bodies with the threads of every phase in a random order and compares the
// bits with those of the host kernels; launch.cuh only adds the barriers.
//
//     Body::kPhases, or phases()                      number of phases
//     begin(block, thread, shared, local)             phase 0
//     resume(phase, block, thread, shared, local)     phases from 1 on
//     blocks()                                        number of blocks; 0: no launch
//     Body::kResident                                 blocks that share a multiprocessor at least;
//                                                     3 without it
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#if !defined(__CUDA_ARCH__)
#include <cstring>
#endif

#include "kernels/arithmetic.hpp"
#include "kernels/lanes.hpp"

struct CUstream_st;

namespace dedloc::kernels::cuda {

/// Elements that a thread reads at once: 16 bytes of fp32, the widest load.
inline constexpr unsigned kPackElements = 4;
/// Threads of a block, whose packs are one row of 1,024 lanes; eight such blocks fill a
/// multiprocessor.
inline constexpr unsigned kThreads = 256;
static_assert(kThreads * kPackElements == kLanes);

/// Neighbouring elements that one thread processes together.
template <class T>
struct alignas(sizeof(T) * kPackElements) Pack {
    T v[kPackElements];
};

/// Number of elements in a pack: a constant in all packs but the last.
using Whole = std::integral_constant<unsigned, kPackElements>;
using Part = unsigned;

/// Reads a pack: in one load if kVector, which requires an aligned address, else one by one.
/// Elements beyond `count` are 0.
template <bool kVector, class T, class Count>
DEDLOC_HOST_DEVICE inline Pack<T> read_pack(const T* from, Count count) {
    Pack<T> pack{};
    if constexpr (kVector && std::is_same_v<Count, Whole>) {
#if defined(__CUDA_ARCH__)
        using Word = std::conditional_t<sizeof(pack) == 16, uint4,
                                        std::conditional_t<sizeof(pack) == 8, uint2, unsigned>>;
        pack = std::bit_cast<Pack<T>>(*reinterpret_cast<const Word*>(from));
#else
        std::memcpy(static_cast<void*>(&pack), from, sizeof(pack));
#endif
    } else {
        for (unsigned j = 0; j < kPackElements; ++j) {
            if (j < count) pack.v[j] = from[j];
        }
    }
    return pack;
}

/// Writes a pack's first `count` elements.
template <bool kVector, class T, class Count>
DEDLOC_HOST_DEVICE inline void write_pack(T* to, const Pack<T>& pack, Count count) {
    if constexpr (kVector && std::is_same_v<Count, Whole>) {
#if defined(__CUDA_ARCH__)
        using Word = std::conditional_t<sizeof(pack) == 16, uint4,
                                        std::conditional_t<sizeof(pack) == 8, uint2, unsigned>>;
        *reinterpret_cast<Word*>(to) = std::bit_cast<Word>(pack);
#else
        std::memcpy(static_cast<void*>(to), &pack, sizeof(pack));
#endif
    } else {
        for (unsigned j = 0; j < kPackElements; ++j) {
            if (j < count) to[j] = pack.v[j];
        }
    }
}

/// Whether packs at this address can be read in one load.
template <class T>
bool is_aligned(const T* address) {
    return std::bit_cast<std::uintptr_t>(address) % alignof(Pack<T>) == 0;
}

/// 1 if x is infinite or NaN, else 0.
DEDLOC_HOST_DEVICE inline std::uint32_t not_finite(float x) {
    return kernels::is_finite(x) ? 0u : 1u;
}

/// Writes 0 to a flag, from any number of threads.
DEDLOC_HOST_DEVICE inline void clear_flag(std::uint32_t* flag) {
#if defined(__CUDA_ARCH__)
    atomicExch(flag, 0u);
#else
    *flag = 0;
#endif
}

/// Applies `Row` to elements first + 4 thread, then every 1,024 further, below `end`. Reads kAhead
/// packs before it writes any, else every load would wait for the store before it.
///
///     Row::kVector                  whether packs can be read in one load
///     Row::kAhead                   packs of a thread that are loaded together, if so
///     Row::Loaded, load(i, count)   the inputs of elements i … i + count − 1
///     apply(i, count, loaded, to)   computes and writes them; returns how many are not finite
///
///     prepare()                     reads scalars that earlier kernels have computed
///
/// Returns   the number of elements that are not finite
template <class Row, class To>
DEDLOC_HOST_DEVICE inline std::uint32_t walk(Row row, std::size_t first, std::size_t end,
                                             unsigned thread, To& to) {
    std::uint32_t bad = 0;
    row.prepare();
    std::size_t i = first + kPackElements * std::size_t{thread};
    if constexpr (Row::kVector) {
        constexpr std::size_t kFurthest = (Row::kAhead - 1) * kLanes + kPackElements;
        for (; i + kFurthest <= end; i += Row::kAhead * kLanes) {
            typename Row::Loaded loaded[Row::kAhead];
            for (unsigned a = 0; a < Row::kAhead; ++a) {
                loaded[a] = row.load(i + a * kLanes, Whole{});
            }
            for (unsigned a = 0; a < Row::kAhead; ++a) {
                bad += row.apply(i + a * kLanes, Whole{}, loaded[a], to);
            }
        }
    }
    for (; i < end; i += kLanes) {
        const Part count = end - i < kPackElements ? static_cast<Part>(end - i) : kPackElements;
        bad += row.apply(i, count, row.load(i, count), to);
    }
    return bad;
}

/// Enqueues a body's blocks into a stream; returns a cudaError_t. Defined in launch.cuh,
/// instantiated in the .cu file of the body.
template <class Body>
int launch(const Body& body, CUstream_st* stream);

/// The `Shared` or `Local` of a body that needs none.
struct Nothing {};

/// The number of phases of a body: a constant, unless it depends on the body's data.
template <class Body>
DEDLOC_HOST_DEVICE constexpr unsigned phases_of(const Body& body) {
    if constexpr (requires { body.phases(); }) {
        return body.phases();
    } else {
        return Body::kPhases;
    }
}

/// How many blocks of a body share a multiprocessor at least, which limits their registers.
template <class Body>
constexpr unsigned resident_blocks() {
    if constexpr (requires { Body::kResident; }) {
        return Body::kResident;
    } else {
        return 3;
    }
}

/// A body over independent elements. `Row` as in walk, with the flag `is_finite`.
template <class Row>
struct EachElement {
    static constexpr unsigned kPhases = 1;
    static constexpr std::size_t kBlockElements = Row::kAhead * kLanes;
    using Shared = Nothing;
    using Local = Nothing;

    Row row;            ///< the work on a pack
    std::size_t count;  ///< N

    /// The functions of a body, as above.
    DEDLOC_HOST_DEVICE std::size_t blocks() const {
        return (count + kBlockElements - 1) / kBlockElements;
    }

    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local&) const {
        const std::size_t first = kBlockElements * block;
        const std::size_t end = first + kBlockElements < count ? first + kBlockElements : count;
        if (walk(row, first, end, thread, shared) != 0) clear_flag(row.is_finite);
    }
    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t, unsigned, Shared&, Local&) const {}
};

}  // namespace dedloc::kernels::cuda
