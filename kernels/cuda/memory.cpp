#include "kernels/cuda/memory.hpp"

#include <cuda_runtime.h>

#include "kernels/check.hpp"
#include "kernels/cuda/error.hpp"

namespace dedloc::kernels::cuda {

DeviceBytes::DeviceBytes(std::size_t size, StreamView stream) : stream_(stream) {
    if (size == 0) return;
    check_cuda(cudaMallocAsync(&data_, size, stream.raw()), "cudaMallocAsync",
               "allocating device memory");
}

DeviceBytes::~DeviceBytes() {
    if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_.raw()));
}

PinnedBytes::PinnedBytes(std::size_t size) {
    if (size == 0) return;
    check_cuda(cudaMallocHost(&data_, size), "cudaMallocHost", "locking host memory");
}

PinnedBytes::~PinnedBytes() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
}

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to, StreamView stream) {
    DEDLOC_KERNEL_REQUIRE(from.size() == to.size(), "a copy has another length than its source",
                          static_cast<double>(from.size()), static_cast<double>(to.size()));
    if (from.empty()) return;
    check_cuda(
        cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDefault, stream.raw()),
        "cudaMemcpyAsync", "copying");
}

void clear_bytes(DeviceSpan<std::byte> bytes, StreamView stream) {
    if (bytes.empty()) return;
    check_cuda(cudaMemsetAsync(bytes.data(), 0, bytes.size(), stream.raw()), "cudaMemsetAsync",
               "clearing memory");
}

void raise_flag(DeviceFlag flag, StreamView stream) {
    DEDLOC_KERNEL_REQUIRE(flag.size() == 1, "a flag is one word", static_cast<double>(flag.size()));
    check_cuda(cudaMemsetAsync(flag.data(), 0xff, flag.size_bytes(), stream.raw()),
               "cudaMemsetAsync", "raising a flag");
}

}  // namespace dedloc::kernels::cuda
