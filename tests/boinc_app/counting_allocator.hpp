// Counts the memory of libtorch's tensors on the processor.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dedloc::test {

/// While it lives, torch's tensors on the processor are counted. Each block begins with its size.
class CountingAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        auto* const block = static_cast<std::byte*>(c10::alloc_cpu(bytes + kHead));
        std::memcpy(block, &bytes, sizeof(bytes));
        held_ += bytes;
        std::size_t largest = largest_;
        while (largest < held_ && !largest_.compare_exchange_weak(largest, held_)) {
        }
        return {block + kHead, block + kHead, &CountingAllocator::release, at::DeviceType::CPU};
    }
    // oneDNN's scratch memory: it is the same block, of which only its address is kept.
    c10::DeleterFnPtr raw_deleter() const override { return &CountingAllocator::release; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }

    CountingAllocator() { c10::SetAllocator(c10::DeviceType::CPU, this, kPriority); }
    ~CountingAllocator() override {
        c10::SetAllocator(c10::DeviceType::CPU, c10::GetDefaultCPUAllocator(), kPriority);
    }
    CountingAllocator(const CountingAllocator&) = delete;
    CountingAllocator& operator=(const CountingAllocator&) = delete;

    /// The most bytes that were held at once since the last call.
    static std::size_t take_largest() { return largest_.exchange(held_); }

  private:
    static constexpr std::size_t kHead = 64;  // keeps torch's alignment
    static constexpr std::uint8_t kPriority = 255;

    static void release(void* memory) {
        std::byte* const block = static_cast<std::byte*>(memory) - kHead;
        std::size_t bytes = 0;
        std::memcpy(&bytes, block, sizeof(bytes));
        held_ -= bytes;
        c10::free_cpu(block);
    }

    static inline std::atomic<std::size_t> held_{0};
    static inline std::atomic<std::size_t> largest_{0};
};

}  // namespace dedloc::test
