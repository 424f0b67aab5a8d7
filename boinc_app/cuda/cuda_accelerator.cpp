// All work goes through one stream, which attach() also makes libtorch's current one, so libtorch's
// operations and our kernels run in the order of their calls. Copies pass through two pinned
// buffers; an event behind each copy is what wait() waits for. A single number is copied to a small
// pinned buffer, and the thread then waits for the whole stream. guarded() turns errors of the CUDA
// runtime into DeviceError. If memory runs out, allocate() makes libtorch release its cached blocks
// and tries once more.
#include "boinc_app/cuda/cuda_accelerator.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>

#include "boinc_app/cuda/crops.hpp"
#include "boinc_app/cuda/cuda_failure.hpp"
#include "boinc_app/cuda/layers.hpp"
#include "boinc_app/training/device_error.hpp"
#include "kernels/cuda/error.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/cuda/unit_rows.hpp"

namespace dedloc::training {
namespace {

namespace cuda = kernels::cuda;
using cuda::DeviceBuffer;
using cuda::DeviceSpan;
using cuda::PinnedBuffer;

/// Oldest compute capability that the kernels and libtorch are compiled for.
constexpr unsigned kMinCapability = 75;
/// bf16 has matrix instructions from here on.
constexpr unsigned kBf16Capability = 80;

template <class T>
DeviceSpan<T> there(std::span<T> values) {
    return {values.data(), values.size()};
}

/// Calls `act` and turns errors of the CUDA runtime into DeviceError.
template <class Act>
auto with_typed_errors(unsigned device, const Act& act) {
    try {
        return act();
    } catch (const cuda::CudaError& error) {
        throw DeviceError{failure_of_cuda(error.code()),
                          fmt::format("GPU {} cannot be used: {}", device, error.what())};
    }
}

class Memory final : public DeviceMemory {
  public:
    Memory(std::size_t bytes, cuda::StreamView stream) : buffer_(bytes, stream) {}
    std::byte* data() const override { return buffer_.span().data(); }

  private:
    const DeviceBuffer<std::byte> buffer_;
};

/// A segment table in the device's memory, and what updates by it need.
struct Table {
    Table(const kernels::SegmentTable& table, cuda::StreamView stream)
        : segments(table.segments().size(), stream),
          tensors(table.tensors().size(), stream),
          view{segments.span(), tensors.span(), table.end()},
          workspace(std::max({cuda::lamb_workspace_bytes(view), cuda::sgd_workspace_bytes(view),
                              cuda::unit_rows_workspace_bytes(view)}),
                    stream) {
        cuda::upload(table.segments(), segments.span(), stream);
        cuda::upload(table.tensors(), tensors.span(), stream);
        // The caller's arrays may be gone when the copies run.
        stream.wait();
    }

    const DeviceBuffer<kernels::TensorSegment> segments;
    const DeviceBuffer<kernels::TensorSegments> tensors;
    const cuda::DeviceTable view;
    const DeviceBuffer<std::byte> workspace;
};

/// The device's properties and the first use of it. A thread that waits for it sleeps.
cudaDeviceProp opened(unsigned device) {
    const auto index = static_cast<int>(device);
    cuda::check_cuda(
        cudaInitDevice(index, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
        "cudaInitDevice", "starting the device");
    cuda::check_cuda(cudaSetDevice(index), "cudaSetDevice", "choosing the device");
    cudaDeviceProp properties{};
    cuda::check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties",
                     "asking for the device's properties");
    return properties;
}

class CudaAccelerator final : public Accelerator {
  public:
    explicit CudaAccelerator(unsigned device)
        : device_(device),
          properties_(opened(device)),
          layers_(stream_, static_cast<unsigned>(properties_.multiProcessorCount)),
          crops_(stream_, static_cast<unsigned>(properties_.multiProcessorCount)),
          torch_stream_(c10::cuda::getStreamFromExternal(stream_.view().raw(), index())),
          staging_{PinnedBuffer<std::byte>{kStagingBytes}, PinnedBuffer<std::byte>{kStagingBytes}},
          flag_(1, stream_),
          norm_(1, stream_),
          results_(sizeof(double)) {
        if (capability() < kMinCapability) {
            throw DeviceError{
                DeviceFailure::kNoDevice,
                fmt::format("GPU {} ({}) is too old: it has compute capability {}.{}, and {}.{} is "
                            "needed",
                            device, properties_.name, properties_.major, properties_.minor,
                            kMinCapability / 10, kMinCapability % 10)};
        }
        attach();
    }

    void attach() override {
        guarded([&] {
            cuda::check_cuda(cudaSetDevice(index()), "cudaSetDevice", "choosing the device");
        });
        c10::cuda::setCurrentCUDAStream(torch_stream_);
    }
    Computation computation() override {
        return {.cuda = device_,
                .precision = capability() >= kBf16Capability ? Precision::kBf16 : Precision::kFp16,
                .fuses_attention = true,
                .layers = &layers_,
                .crops = &crops_};
    }
    GpuProperties properties() override {
        return guarded([&] {
            std::size_t free = 0;
            std::size_t all = 0;
            cuda::check_cuda(cudaMemGetInfo(&free, &all), "cudaMemGetInfo",
                             "asking for the free memory");
            return GpuProperties{
                .name = properties_.name,
                .multiprocessors = static_cast<unsigned>(properties_.multiProcessorCount),
                .capability = capability(),
                .memory_bytes = all,
                .free_memory_bytes = free};
        });
    }

    std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override {
        return guarded([&]() -> std::unique_ptr<DeviceMemory> {
            try {
                return std::make_unique<Memory>(bytes, stream_);
            } catch (const cuda::CudaOutOfMemory&) {
                trim();
            }
            try {
                return std::make_unique<Memory>(bytes, stream_);
            } catch (const cuda::CudaOutOfMemory&) {
                throw DeviceError{
                    DeviceFailure::kOutOfMemory,
                    fmt::format("GPU {} ({}) has too little free memory: {} MB more are needed, {} "
                                "MB are free",
                                device_, properties_.name, bytes / 1'000'000,
                                properties().free_memory_bytes / 1'000'000)};
            }
        });
    }
    void trim() override {
        guarded([&] {
            stream_.view().wait();
            c10::cuda::CUDACachingAllocator::emptyCache();
        });
    }
    void clear(std::span<std::byte> memory) override {
        guarded([&] { cuda::clear_bytes(there(memory), stream_); });
    }

    std::span<std::byte> staging(std::size_t which) override { return staging_.at(which).span(); }
    void upload(std::size_t which, std::span<std::byte> to) override {
        guarded([&] {
            cuda::upload<std::byte>(staging(which).first(to.size()), there(to), stream_);
            copied_.at(which).record(stream_);
        });
    }
    void download(std::span<const std::byte> from, std::size_t which) override {
        guarded([&] {
            cuda::download(there(from), staging(which).first(from.size()), stream_);
            copied_.at(which).record(stream_);
        });
    }
    void wait(std::size_t which) override {
        guarded([&] { copied_.at(which).wait(); });
    }

    bool all_finite(std::span<const float> values) override {
        return guarded([&] {
            cuda::raise_flag(flag_, stream_);
            cuda::check_finite(there(values), flag_, stream_);
            return read<std::uint32_t>(flag_) != 0;
        });
    }
    double global_norm(std::span<const float> values) override {
        return guarded([&] {
            const DeviceBuffer<std::byte> workspace{cuda::norm_workspace_bytes(values.size()),
                                                    stream_};
            cuda::global_norm(there(values), norm_, workspace, stream_);
            return read<double>(norm_);
        });
    }
    void set_tensors(const kernels::SegmentTable& tensors,
                     const kernels::SegmentTable& unit_rows) override {
        guarded([&] {
            table_.emplace(tensors, stream_);
            unit_rows_.emplace(unit_rows, stream_);
        });
    }
    void update(const kernels::LambVectors& all, const kernels::LambScalars& scalars) override {
        guarded([&] {
            cuda::lamb({there(all.parameters), there(all.first_moment), there(all.second_moment),
                        there(all.gradient)},
                       table_.value().view, scalars, {}, table_.value().workspace, stream_);
            scale_unit_rows(there(all.parameters));
        });
    }
    void update(const kernels::SgdVectors& all, const kernels::SgdScalars& scalars) override {
        guarded([&] {
            cuda::sgd({there(all.parameters), there(all.momentum), there(all.gradient)},
                      table_.value().view, scalars, {}, table_.value().workspace, stream_);
            scale_unit_rows(there(all.parameters));
        });
    }

  private:
    c10::DeviceIndex index() const { return static_cast<c10::DeviceIndex>(device_); }
    unsigned capability() const {
        return static_cast<unsigned>(10 * properties_.major + properties_.minor);
    }
    template <class Act>
    std::invoke_result_t<const Act&> guarded(const Act& act) const {
        return with_typed_errors(device_, act);
    }
    void scale_unit_rows(DeviceSpan<float> parameters) {
        cuda::unit_rows(parameters, unit_rows_.value().view, unit_rows_.value().workspace, stream_);
    }
    /// Copies one number from the device and waits for it.
    template <class T>
    T read(DeviceSpan<const T> from) {
        const std::span<T> to{static_cast<T*>(static_cast<void*>(results_.span().data())), 1};
        cuda::download(from, to, stream_);
        stream_.view().wait();
        return to[0];
    }

    const unsigned device_;
    const cudaDeviceProp properties_;
    const cuda::Stream stream_;
    Layers layers_;
    Crops crops_;
    const c10::cuda::CUDAStream torch_stream_;
    const std::array<PinnedBuffer<std::byte>, kStagingBuffers> staging_;
    const std::array<cuda::Event, kStagingBuffers> copied_;
    const DeviceBuffer<std::uint32_t> flag_;
    const DeviceBuffer<double> norm_;
    const PinnedBuffer<std::byte> results_;
    std::optional<Table> table_;
    std::optional<Table> unit_rows_;
};

}  // namespace

std::unique_ptr<Accelerator> make_cuda_accelerator(unsigned device) {
    return with_typed_errors(device, [&]() -> std::unique_ptr<Accelerator> {
        return std::make_unique<CudaAccelerator>(device);
    });
}

}  // namespace dedloc::training
