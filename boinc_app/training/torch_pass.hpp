// Parts of one forward or backward pass on libtorch, for models: parameters in a vector, inputs on
// the model's device, interruption, mixed precision, gradients, and the errors of a device. The
// only header with torch's types.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/loss_scale.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/check.hpp"
#include "peer/formats/run_file.hpp"

// The functions of ATen/autocast_mode.h that Autocast calls. That header includes all operators of
// libtorch, which take longer to compile than the model.
namespace at::autocast {
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API void set_autocast_dtype(at::DeviceType device_type, at::ScalarType dtype);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API void set_autocast_cache_enabled(bool enabled);
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
}  // namespace at::autocast

namespace dedloc::training {

/// The device of a computation.
inline at::Device device_of(const Computation& computation) {
    if (!computation.cuda) return at::kCPU;
    return {at::kCUDA, static_cast<at::DeviceIndex>(*computation.cuda)};
}

/// The type of the operands of matrix products.
inline at::ScalarType type_of(Precision precision) {
    switch (precision) {
        case Precision::kBf16:
            return at::kBFloat16;
        case Precision::kFp16:
            return at::kHalf;
        case Precision::kFp32:
            break;
    }
    return at::kFloat;
}

/// The tensors of a layout in vectors on a device. The caller owns the vectors.
class TensorViews {
  public:
    /// The layout is that of formats::tensor_offsets.
    TensorViews(const std::vector<formats::TensorSpec>& tensors, at::Device device)
        : device_(device) {
        for (const formats::TensorSpec& tensor : tensors) {
            offsets_.push_back(element_count_);
            element_count_ += static_cast<std::size_t>(tensor.padded_count());
            shapes_.emplace_back(tensor.shape.begin(), tensor.shape.end());
        }
    }
    /// Elements of a vector, with the padding between tensors.
    std::size_t element_count() const { return element_count_; }
    /// Tensors that share the memory of `vector`. Requires element_count() elements (aborts).
    std::vector<at::Tensor> of(std::span<float> vector) const {
        DEDLOC_CHECK(vector.size() == element_count_, "wrong number of elements", vector.size());
        std::vector<at::Tensor> tensors;
        for (std::size_t i = 0; i < offsets_.size(); ++i) {
            tensors.push_back(at::for_blob(vector.data() + offsets_[i], shapes_[i])
                                  .options(at::device(device_).dtype(at::kFloat))
                                  .target_device(device_)
                                  .make_tensor());
        }
        return tensors;
    }
    /// Parameters, of which gradients may be asked; nothing may write to them. Requires also an
    /// address that is a multiple of 64 bytes, because MKL's rounding depends on it (aborts).
    std::vector<at::Tensor> parameters(std::span<const float> vector) const {
        DEDLOC_CHECK(reinterpret_cast<std::uintptr_t>(vector.data()) % kFloatsAlignment == 0,
                     "the parameters must begin at a multiple of 64 bytes");
        // Torch has no tensors of constant memory.
        auto tensors = of({const_cast<float*>(vector.data()), vector.size()});
        for (const at::Tensor& tensor : tensors) tensor.set_requires_grad(true);
        return tensors;
    }

  private:
    const at::Device device_;
    std::size_t element_count_ = 0;
    std::vector<std::size_t> offsets_;
    std::vector<std::vector<std::int64_t>> shapes_;
};

/// Unwinds a forward or backward pass that is interrupted. Autograd only passes on exceptions that
/// derive from std::exception.
class Interrupted final : public std::exception {
  public:
    const char* what() const noexcept override { return "the micro-batch was interrupted"; }
};

/// Places where a forward or backward pass throws Interrupted if the caller wants its thread back.
class InterruptionPoints {
  public:
    explicit InterruptionPoints(const IsInterrupted& is_interrupted)
        : is_interrupted_(is_interrupted) {}

    /// Throws Interrupted if the caller wants its thread back.
    void check() const {
        if (is_interrupted_ && is_interrupted_()) throw Interrupted{};
    }
    /// Checks now, in the forward pass, and again when the backward pass has computed the gradient
    /// of `x`.
    at::Tensor add(at::Tensor x) const {
        if (!is_interrupted_) return x;
        check();
        if (x.requires_grad()) {
            x.register_hook([this](const at::Tensor&) { check(); });
        }
        return x;
    }

  private:
    const IsInterrupted& is_interrupted_;
};

/// The caller's values as a tensor on `device`. On the processor it reads the caller's memory,
/// which must stay alive and unchanged as long as the tensor.
template <class T>
at::Tensor input(const std::vector<T>& values, at::IntArrayRef shape, at::Device device) {
    constexpr auto kType = std::is_same_v<T, float> ? at::kFloat : at::kLong;
    return at::from_blob(const_cast<T*>(values.data()), shape, at::dtype(kType)).to(device);
}

/// While it lives, the calling thread computes matrix products in this precision. Products cast
/// their operands; casts are not kept between products, because the gradients of a weight that is
/// used in many layers would then be added up in that precision.
class Autocast {
  public:
    /// Requires a type of device that the calling thread computes on.
    Autocast(at::DeviceType device, Precision precision)
        : device_(device),
          type_before_(at::autocast::get_autocast_dtype(device)),
          is_on_(precision != Precision::kFp32) {
        if (!is_on_) return;
        at::autocast::set_autocast_dtype(device, type_of(precision));
        at::autocast::set_autocast_enabled(device, true);
        at::autocast::set_autocast_cache_enabled(false);
        at::autocast::increment_nesting();
    }
    ~Autocast() {
        if (!is_on_) return;
        at::autocast::decrement_nesting();
        at::autocast::set_autocast_cache_enabled(true);
        at::autocast::set_autocast_enabled(device_, false);
        at::autocast::set_autocast_dtype(device_, type_before_);
    }
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;

  private:
    const at::DeviceType device_;
    const at::ScalarType type_before_;
    const bool is_on_;
};

/// The gradients of `loss` by `inputs`, in tensors of their own. fp16 scales the loss, and nothing
/// is returned if gradients overflowed: they must be computed again with the smaller scale.
inline std::optional<std::vector<at::Tensor>> gradients_of(const at::Tensor& loss,
                                                           const std::vector<at::Tensor>& inputs,
                                                           Precision precision,
                                                           LossScale& loss_scale) {
    // Not backward(): it would add the gradients of some tensors before it is interrupted.
    if (precision != Precision::kFp16) return torch::autograd::grad({loss}, inputs);
    const double scale = loss_scale.value();
    auto gradients = torch::autograd::grad({loss * scale}, inputs);
    const c10::NoGradGuard no_gradients;
    at::Tensor is_infinite = at::zeros({1}, at::device(loss.device()).dtype(at::kFloat));
    const at::Tensor inverse = at::full({1}, 1 / scale, is_infinite.options());
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, is_infinite, inverse);
    if (!loss_scale.accept(is_infinite.item<float>() == 0)) return std::nullopt;
    return gradients;
}

/// Calls `compute` and turns libtorch's errors of a device into DeviceError.
template <class Compute>
auto with_device_errors(const Compute& compute) {
    constexpr const char* kFull = "the GPU has too little free memory for a micro-batch";
    const auto first_line = [](const c10::Error& error) {
        const std::string text = error.what_without_backtrace();
        return text.substr(0, text.find('\n'));
    };
    try {
        return compute();
    } catch (const c10::OutOfMemoryError&) {
        throw DeviceError{DeviceFailure::kOutOfMemory, kFull};
    } catch (const c10::AcceleratorError& error) {
        constexpr int kCudaMemoryAllocation = 2;  // cudaErrorMemoryAllocation
        if (error.get_error_code() == kCudaMemoryAllocation) {
            throw DeviceError{DeviceFailure::kOutOfMemory, kFull};
        }
        throw DeviceError{DeviceFailure::kLost,
                          fmt::format("the GPU has failed: {}", first_line(error))};
    } catch (const c10::Error& error) {
        // NVIDIA's libraries take memory of their own. They report the lack of it in many ways,
        // such as "not initialized" or "no valid execution plans built".
        const std::string line = first_line(error);
        for (const char* const library : {"CUBLAS", "cuBLAS", "CUDNN", "cuDNN", "cudnn"}) {
            if (line.find(library) == std::string::npos) continue;
            throw DeviceError{
                DeviceFailure::kOutOfMemory,
                fmt::format("the GPU's libraries have failed, probably for lack of memory: {}",
                            line)};
        }
        throw;
    }
}

/// Calls `compute` with the points where it may be interrupted; nothing if it was. Errors: as
/// with_device_errors().
template <class Compute>
auto unless_interrupted(const IsInterrupted& is_interrupted, const Compute& compute)
    -> std::optional<decltype(compute(std::declval<const InterruptionPoints&>()))> {
    const InterruptionPoints points{is_interrupted};
    try {
        return with_device_errors([&] { return std::optional{compute(points)}; });
    } catch (const Interrupted&) {
        return std::nullopt;
    }
}

}  // namespace dedloc::training
