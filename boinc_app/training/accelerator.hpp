// The interface to a GPU: its memory, copies and the kernels of an update. The plug-in
// (boinc_app/cuda) implements it with CUDA; everything above it is tested with an implementation in
// host memory.
//
// Operations run in the order of the calls, on one stream, which is also the current stream of
// libtorch for the attached thread. Calls return before the device has finished, except those that
// say that they wait. Waiting does not keep a core busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "boinc_app/training/computation.hpp"
#include "kernels/lamb.hpp"
#include "kernels/segment_table.hpp"
#include "kernels/sgd.hpp"

namespace dedloc::training {

/// The version of this interface. The plug-in must have been compiled for the same one.
inline constexpr std::uint32_t kAcceleratorVersion = 4;

/// What a GPU is.
struct GpuProperties {
    std::string name;                     ///< such as "NVIDIA H100 80GB HBM3"
    unsigned multiprocessors = 0;         ///< their number
    unsigned capability = 0;              ///< CUDA's compute capability: 90 for 9.0
    std::uint64_t memory_bytes = 0;       ///< all of its memory
    std::uint64_t free_memory_bytes = 0;  ///< when it was asked
};

/// A part of a device's memory, which is freed with it. The host cannot read it.
class DeviceMemory {
  public:
    virtual ~DeviceMemory() = default;
    /// Its address on the device, a multiple of 256 bytes.
    virtual std::byte* data() const = 0;
};

/// One GPU.
///
/// Thread   one at a time, after attach()
/// Errors   all functions: DeviceError
class Accelerator {
  public:
    /// Page-locked buffers that copies go through.
    static constexpr std::size_t kStagingBuffers = 2;
    /// Size of a staging buffer: 4 MiB, whole leaves of the state's digest.
    static constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

    virtual ~Accelerator() = default;

    /// Makes device and stream current for the calling thread, which makes all calls until another
    /// one calls this.
    virtual void attach() = 0;
    /// Which device libtorch's models compute on, and how. Its layers and its kernel of crops live
    /// as long as this.
    virtual Computation computation() = 0;
    /// Asks the device now.
    virtual GpuProperties properties() = 0;

    /// Memory of the device, uninitialised. When it does not suffice, memory that libtorch keeps
    /// for later is given back first. Errors: kOutOfMemory.
    virtual std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) = 0;
    /// Gives memory that is not used back to the device. Waits.
    virtual void trim() = 0;
    /// Sets every byte to 0.
    virtual void clear(std::span<std::byte> memory) = 0;

    /// A staging buffer, to be filled or read. Requires that wait(which) was called after the last
    /// copy from it or to it.
    virtual std::span<std::byte> staging(std::size_t which) = 0;
    /// Copies the first bytes of a staging buffer to the device, as many as `to` has.
    virtual void upload(std::size_t which, std::span<std::byte> to) = 0;
    /// Copies from the device to the beginning of a staging buffer.
    virtual void download(std::span<const std::byte> from, std::size_t which) = 0;
    /// Waits for the last copy from this staging buffer or to it.
    virtual void wait(std::size_t which) = 0;

    /// Whether all values are finite. Waits.
    virtual bool all_finite(std::span<const float> values) = 0;
    /// As kernels::global_norm, with the same bits. Waits.
    virtual double global_norm(std::span<const float> values) = 0;
    /// Sets the tensors of later updates, and the rows that they scale to unit length.
    virtual void set_tensors(const kernels::SegmentTable& tensors,
                             const kernels::SegmentTable& unit_rows) = 0;
    /// As kernels::lamb and kernels::sgd, then kernels::unit_rows of the parameters, with the same
    /// bits. The spans are in device memory.
    virtual void update(const kernels::LambVectors& vectors,
                        const kernels::LambScalars& scalars) = 0;
    virtual void update(const kernels::SgdVectors& vectors, const kernels::SgdScalars& scalars) = 0;
};

}  // namespace dedloc::training
