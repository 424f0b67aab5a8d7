// Device memory, and page-locked host memory that a device can access fast.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/cuda/device_span.hpp"
#include "kernels/cuda/stream.hpp"

namespace dedloc::kernels::cuda {

/// Bytes of the current device, allocated in the order of a stream: operations enqueued there after
/// the constructor may use them, and they are freed when all operations enqueued before the
/// destructor are done. The stream must outlive it.
///
/// Errors    CudaOutOfMemory, which leaves the device usable; CudaError
class DeviceBytes {
  public:
    DeviceBytes(std::size_t size, StreamView stream);
    ~DeviceBytes();
    DeviceBytes(DeviceBytes&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
    DeviceBytes& operator=(DeviceBytes&&) = delete;

    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
    StreamView stream_;
};

/// `size` elements of device memory, uninitialised.
template <class T>
class DeviceBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    DeviceBuffer(std::size_t size, StreamView stream)
        : bytes_(size * sizeof(T), stream), size_(size) {}

    DeviceSpan<T> span() const { return {static_cast<T*>(bytes_.data()), size_}; }
    operator DeviceSpan<T>() const { return span(); }
    operator DeviceSpan<const T>() const { return span(); }
    std::size_t size() const { return size_; }

  private:
    DeviceBytes bytes_;
    std::size_t size_;
};

/// Page-locked bytes of host memory, which a device copies while the host computes.
///
/// Errors    CudaOutOfMemory if the host cannot lock that much
class PinnedBytes {
  public:
    explicit PinnedBytes(std::size_t size);
    ~PinnedBytes();
    PinnedBytes(const PinnedBytes&) = delete;
    PinnedBytes& operator=(const PinnedBytes&) = delete;

    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

/// `size` elements of page-locked memory, uninitialised.
template <class T>
class PinnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    explicit PinnedBuffer(std::size_t size) : bytes_(size * sizeof(T)), size_(size) {}

    std::span<T> span() const { return {static_cast<T*>(bytes_.data()), size_}; }

  private:
    PinnedBytes bytes_;
    std::size_t size_;
};

/// Enqueues a copy between host and device, or within a device. Both buffers must live until it is
/// done. The call may block if the host memory is not page-locked.
///
/// Requires  equal extents      (aborts)
void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to, StreamView stream);

/// Copies typed elements from host to device, or back.
template <class T>
void upload(std::span<const T> from, DeviceSpan<T> to, StreamView stream) {
    copy_bytes(std::as_bytes(from), std::as_writable_bytes(to.addresses()), stream);
}
template <class T>
void download(DeviceSpan<const T> from, std::span<T> to, StreamView stream) {
    copy_bytes(std::as_bytes(from.addresses()), std::as_writable_bytes(to), stream);
}

/// Sets every byte of device memory to 0.
void clear_bytes(DeviceSpan<std::byte> bytes, StreamView stream);

/// Sets a flag; must precede the first kernel that may clear it.
void raise_flag(DeviceFlag flag, StreamView stream);

}  // namespace dedloc::kernels::cuda
