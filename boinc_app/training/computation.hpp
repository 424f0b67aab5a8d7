// The device, the precision and the algorithms that a model computes with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace dedloc::training {

class CropKernel;
class FusedLayers;

/// Says whether the caller of a long computation wants its thread back. Must not throw. Thread: any
/// that the computation uses.
using IsInterrupted = std::function<bool()>;

/// The number format of matrix products. Parameters, gradients, sums, layer norms, softmax and loss
/// are fp32 with each of them.
enum class Precision : std::uint8_t {
    kFp32,  ///< everything is fp32
    kBf16,  ///< bfloat16
    kFp16,  ///< binary16, whose range is so small that the loss must be scaled (loss_scale.hpp)
};

/// Its name for people.
constexpr const char* name_of(Precision precision) {
    switch (precision) {
        case Precision::kBf16:
            return "bf16";
        case Precision::kFp16:
            return "fp16";
        case Precision::kFp32:
            break;
    }
    return "fp32";
}

/// Device, precision and algorithms of a model.
struct Computation {
    /// The number of the CUDA device; nothing: the processor.
    std::optional<unsigned> cuda{};
    /// The number format of its matrix products.
    Precision precision = Precision::kFp32;
    /// Attention is computed by one operation that does not store its weights. It is used unless
    /// they have dropout: its own dropout would not draw from public seeds.
    bool fuses_attention = false;
    /// The device's kernels for what lies between the matrix products of a layer, in reduced
    /// precision; null: libtorch's. They must outlive the model.
    FusedLayers* layers = nullptr;
    /// The device's kernel that makes crops of pictures; null: the processor makes them. It must
    /// outlive the model.
    CropKernel* crops = nullptr;
};

}  // namespace dedloc::training
