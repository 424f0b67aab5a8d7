// A vector is a mapping of one file in memory, which all vectors share, with a private page over
// its first page. Blocks that were made so are found again by their addresses, which begin a page;
// those of malloc do not, because its header comes first.
#include "tests/bench/shared_zeros.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <span>

#include "peer/base/check.hpp"

namespace dedloc::bench {
namespace {

constexpr std::size_t kPage = kPageElements * sizeof(float);
constexpr std::size_t kMaxVectors = 4;  ///< a block has at most

/// The vectors of this process. Never destroyed: static objects free memory until the end.
struct Vectors {
    std::size_t bytes = 0;                ///< size of a vector
    int file = -1;                        ///< a vector of zeros
    std::map<void*, std::size_t> blocks;  ///< sizes of the blocks in use
};
Vectors* vectors = nullptr;  // nothing is shared yet

bool is_of_vectors(std::size_t bytes) {
    return vectors != nullptr && bytes >= vectors->bytes && bytes % vectors->bytes == 0 &&
           bytes / vectors->bytes <= kMaxVectors;
}

void* map(void* place, std::size_t bytes, int flags, int file) {
    void* const begin = ::mmap(place, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc{};
    return begin;
}

void* map_vectors(std::size_t bytes) {
    void* const block = map(nullptr, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    auto* const begin = static_cast<std::byte*>(block);
    for (std::size_t at = 0; at < bytes; at += vectors->bytes) {
        (void)map(begin + at + kPage, vectors->bytes - kPage, MAP_SHARED | MAP_FIXED,
                  vectors->file);
    }
    vectors->blocks.emplace(block, bytes);
    return block;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (is_of_vectors(bytes)) return map_vectors(bytes);
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment;
    void* const block = alignment <= alignof(std::max_align_t)
                            ? std::malloc(std::max<std::size_t>(bytes, 1))
                            : std::aligned_alloc(alignment, whole * alignment);
    if (block == nullptr) throw std::bad_alloc{};
    return block;
}

void release(void* block) {
    const bool begins_page = reinterpret_cast<std::uintptr_t>(block) % kPage == 0;
    if (begins_page && block != nullptr && vectors != nullptr) {
        const auto found = vectors->blocks.find(block);
        if (found != vectors->blocks.end()) {
            ::munmap(block, found->second);
            vectors->blocks.erase(found);
            return;
        }
    }
    std::free(block);
}

}  // namespace

void share_zeros(std::uint64_t elements) {
    DEDLOC_CHECK(vectors == nullptr, "zeros are shared once");
    DEDLOC_CHECK(elements % kPageElements == 0 && elements / kPageElements >= 2,
                 "a vector has whole pages, and two or more", elements);
    auto* const made = new Vectors{};
    made->bytes = sizeof(float) * static_cast<std::size_t>(elements);
    made->file = ::memfd_create("zeros", MFD_CLOEXEC);
    DEDLOC_CHECK(made->file >= 0, "the system makes a file in memory");
    const int status = ::ftruncate(made->file, static_cast<off_t>(made->bytes));
    DEDLOC_CHECK(status == 0, "the file takes a vector");
    vectors = made;
}

bool holds_zeros() {
    DEDLOC_CHECK(vectors != nullptr, "zeros are shared");
    const std::size_t bytes = vectors->bytes - kPage;
    void* const place = map(nullptr, bytes, MAP_SHARED, vectors->file);
    const std::span all{static_cast<const std::byte*>(place), bytes};
    const bool is_zero =
        std::all_of(all.begin(), all.end(), [](std::byte value) { return value == std::byte{0}; });
    ::munmap(place, bytes);
    return is_zero;
}

}  // namespace dedloc::bench

// NOLINTBEGIN(misc-new-delete-overloads): the overloads left out call these
void* operator new(std::size_t bytes) {
    return dedloc::bench::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return dedloc::bench::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
    dedloc::bench::release(block);
}
void operator delete(void* block, std::size_t) noexcept {
    dedloc::bench::release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    dedloc::bench::release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    dedloc::bench::release(block);
}
// NOLINTEND(misc-new-delete-overloads)
