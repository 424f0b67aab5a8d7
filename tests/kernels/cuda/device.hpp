// The device that test cases run on. With DEDLOC_DEVICE_IS_HOST the host plays the device: the
// threads of a body run one after the other, in random order, in ordinary memory. Else it is a GPU.
#pragma once

#include <bit>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"
#if defined(DEDLOC_DEVICE_IS_HOST)
#include "kernels/cuda/host_launch.hpp"
#else
#include "kernels/cuda/memory.hpp"
#endif

namespace dedloc::tests {

using kernels::cuda::DeviceSpan;
using kernels::cuda::StreamView;

#if defined(DEDLOC_DEVICE_IS_HOST)

class Device {
  public:
    StreamView stream() { return StreamView{&stream_}; }

  private:
    CUstream_st stream_;
};

/// Memory of the device, with the alignment of a device's allocator.
class DeviceMemory {
  public:
    DeviceMemory(std::span<const std::byte> content, Device&)
        : words_((content.size() + sizeof(Word) - 1) / sizeof(Word)) {
        if (!content.empty()) std::memcpy(words_.data(), content.data(), content.size());
    }
    void* data() const { return words_.data(); }
    void read(std::span<std::byte> to) const {
        if (!to.empty()) std::memcpy(to.data(), words_.data(), to.size());
    }

  private:
    struct alignas(256) Word {
        std::byte bytes[256];
    };
    mutable std::vector<Word> words_;
};

#else

class Device {
  public:
    StreamView stream() { return stream_; }

  private:
    kernels::cuda::Stream stream_;
};

class DeviceMemory {
  public:
    DeviceMemory(std::span<const std::byte> content, Device& device)
        : stream_(device.stream()), bytes_(content.size(), stream_) {
        kernels::cuda::upload(content, bytes_.span(), stream_);
        stream_.wait();
    }
    void* data() const { return bytes_.span().data(); }
    void read(std::span<std::byte> to) const {
        kernels::cuda::download<std::byte>(bytes_, to, stream_);
        stream_.wait();
    }

  private:
    StreamView stream_;
    kernels::cuda::DeviceBuffer<std::byte> bytes_;
};

#endif

/// A vector on the device, `offset` elements behind an aligned address, with guards around it.
template <class T>
class Array {
  public:
    Array(const std::vector<T>& values, Device& device, std::size_t offset = 0)
        : size_(values.size()), front_(kGuard + offset), memory_(laid_out(values), device) {}

    DeviceSpan<T> span() const { return {static_cast<T*>(memory_.data()) + front_, size_}; }
    operator DeviceSpan<T>() const { return span(); }
    operator DeviceSpan<const T>() const { return span(); }

    /// Waits for all enqueued work, then checks the guards.
    std::vector<T> values() const {
        std::vector<T> all(front_ + size_ + kGuard);
        memory_.read(std::as_writable_bytes(std::span{all}));
        std::size_t changed = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i >= front_ && i < front_ + size_) continue;
            changed += std::memcmp(&all[i], &kGuarded, sizeof(T)) == 0 ? 0u : 1u;
        }
        CHECK(changed == 0);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(front_);
        return {begin, begin + static_cast<std::ptrdiff_t>(size_)};
    }

  private:
    /// The number of elements after which the next address is aligned again.
    static constexpr std::size_t kGuard = 64;
    static constexpr T kGuarded{77};

    std::span<const std::byte> laid_out(const std::vector<T>& values) {
        content_.assign(front_ + size_ + kGuard, kGuarded);
        std::copy(values.begin(), values.end(),
                  content_.begin() + static_cast<std::ptrdiff_t>(front_));
        return std::as_bytes(std::span{content_});
    }

    std::size_t size_;
    std::size_t front_;
    std::vector<T> content_;
    DeviceMemory memory_;
};

/// One number on the device.
template <class T>
class Scalar {
  public:
    explicit Scalar(Device& device, T value = {}) : array_({value}, device) {}
    DeviceSpan<T> span() const { return array_; }
    operator DeviceSpan<T>() const { return array_; }
    operator DeviceSpan<const T>() const { return array_; }
    T value() const { return array_.values()[0]; }

  private:
    Array<T> array_;
};

/// A raised flag.
class Flag : public Scalar<std::uint32_t> {
  public:
    explicit Flag(Device& device) : Scalar(device, 1) {}
    bool is_raised() const { return value() != 0; }
};

/// A workspace filled with garbage.
class Workspace {
  public:
    Workspace(std::size_t bytes, Device& device)
        : array_(std::vector<std::byte>(bytes, std::byte{0xff}), device) {}
    operator DeviceSpan<std::byte>() const { return array_; }
    /// Checks the guards.
    ~Workspace() { array_.values(); }

  private:
    Array<std::byte> array_;
};

/// A span at any address. Checks look at addresses and extents only, so they need no memory there.
template <class T>
DeviceSpan<T> at(std::size_t address, std::size_t count) {
    return {std::bit_cast<T*>(address), count};
}

}  // namespace dedloc::tests
