// Device memory as callers see it: an address and an extent that the host cannot dereference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace dedloc::kernels::cuda {

/// `size` elements at a device address. Does not own them; unlike with std::span, the host cannot
/// read them.
template <class T>
class DeviceSpan {
  public:
    DeviceSpan() = default;
    DeviceSpan(T* data, std::size_t size) : data_(data), size_(size) {}
    /// Converts to a read-only span.
    template <class U>
    requires std::is_same_v<T, const U> DeviceSpan(DeviceSpan<U> other)
        : data_(other.data()), size_(other.size()) {}

    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::size_t size_bytes() const { return size_ * sizeof(T); }
    bool empty() const { return size_ == 0; }

    /// For comparing addresses and extents; the elements cannot be read.
    std::span<T> addresses() const { return {data_, size_}; }

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

/// One word of device memory, nonzero while all values are finite. A kernel clears it if a value is
/// not, and never sets it, so several kernels may share one without waiting. The caller sets it
/// first: raise_flag of memory.hpp.
using DeviceFlag = DeviceSpan<std::uint32_t>;

}  // namespace dedloc::kernels::cuda
