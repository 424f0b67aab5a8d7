// The tensors of SwAV in the flat vector that peers average and digest, and what follows from the
// network's shapes: operations and memory of a picture. The trunk's names are torchvision's, those
// of the head are facebook's (facebookresearch/swav).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::formats {

/// What follows a convolution and its batch norm.
enum class ConvolutionRole : std::uint8_t {
    kStem,      ///< ReLU, and the max-pool unless the stem is small
    kInner,     ///< ReLU and the block's next convolution
    kLast,      ///< the block's shortcut is added, then ReLU
    kShortcut,  ///< it is the shortcut of the block whose last convolution it follows in the list
};

/// A convolution without bias, and the batch norm after it.
struct Convolution {
    std::string name;           ///< the convolution's module
    std::string norm;           ///< the batch norm's module
    std::uint64_t inputs = 0;   ///< channels
    std::uint64_t outputs = 0;  ///< channels, also of the batch norm
    std::uint64_t kernel = 1;   ///< pixels of each side, odd; the padding is (kernel − 1) ÷ 2
    std::uint64_t stride = 1;   ///< pixels of its input between two of its output
    /// Pixels of the picture between two of its output: the output of a picture of S pixels has
    /// ⌈S ÷ reduction⌉ on each side.
    std::uint64_t reduction = 1;
    ConvolutionRole role = ConvolutionRole::kInner;  ///< what follows
};

/// The trunk's convolutions in the order of torchvision's state dict.
std::vector<Convolution> convolutions(const ResNetSpec& trunk);

/// F, the number of the trunk's features.
std::uint64_t feature_count(const ResNetSpec& trunk);

/// What is wrong with a task: one sentence that begins with the field's name. Nothing if all fields
/// are within their ranges; only then may the functions below be called.
std::optional<std::string> fault_of(const SwavSpec& task);

/// All tensors: the trunk, `projection_head.{0,1,3}` (`projection_head` if there is no hidden
/// layer), `prototypes`.
///
/// Start    convolutions normal with variance 2 ÷ (outputs · kernel²) (Kaiming, fan out); batch
///          norms 1 and 0; linear maps and their biases normal with the variance of PyTorch's
///          start, which is uniform in ±1 ÷ √inputs: 1 ÷ (3 · inputs).
/// Decay    all, as in DeDLOC's runs.
/// Updates  keep the prototypes at unit length, and leave them as they are in the first steps.
std::vector<TensorSpec> swav_tensors(const SwavSpec& task);

/// Floating-point operations to train on one picture: three times those of the forward pass of all
/// its crops, with 2 per multiply-add of convolutions, linear maps and prototypes. ResNet-50 with
/// DeDLOC's crops: 7.6e10.
double swav_flops_per_sample(const SwavSpec& task);

/// Bytes of tensors that autograd saves for one picture of a micro-batch, all crops together; a
/// little more in `is_reduced` precision than half. An estimate, checked against libtorch's
/// allocations.
std::uint64_t swav_activation_bytes(const SwavSpec& task, bool is_reduced);

/// Bytes of the weights that a micro-batch casts for products in reduced precision and keeps for
/// the backward pass: the trunk's once for each size of crops, because each size is a pass of its
/// own and casts are not shared, the head's once.
std::uint64_t swav_cast_bytes(const SwavSpec& task);

}  // namespace dedloc::formats
