// The results of all sizes are one piece of memory, in which a crop is [size, size, 3]: a view of
// it with other dimensions is channels_last. The pictures' memory on the device is free again as
// soon as the crops are enqueued, before the trunk's activations need it.
#include "boinc_app/swav/packed_crops.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "boinc_app/pictures/blur.hpp"
#include "boinc_app/pictures/colours.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/base/check.hpp"

namespace dedloc::swav {
namespace {

using training::CropColour;
using training::KernelCrop;

/// Crops of each size begin at a multiple of as many values, as convolutions like it.
constexpr std::int64_t kValueAlignment = 64;

/// The operations of a jitter that change something, as pictures::apply_jitter() does them.
void set_colours(const pictures::Jitter& jitter, KernelCrop& crop) {
    std::size_t count = 0;
    const auto add = [&](bool changes, CropColour colour) {
        if (changes) crop.colours.at(count++) = colour;
    };
    for (const pictures::JitterOperation operation : jitter.order) {
        switch (operation) {
            case pictures::JitterOperation::kBrightness:
                add(jitter.brightness != 1, CropColour::kBrightness);
                break;
            case pictures::JitterOperation::kContrast:
                add(jitter.contrast != 1, CropColour::kContrast);
                break;
            case pictures::JitterOperation::kSaturation:
                add(jitter.saturation != 1, CropColour::kSaturation);
                break;
            case pictures::JitterOperation::kHue:
                add(jitter.hue != 0, CropColour::kHue);
                break;
        }
    }
    crop.factors = {static_cast<float>(jitter.brightness), static_cast<float>(jitter.contrast),
                    static_cast<float>(jitter.saturation)};
    crop.hue_shift = pictures::hue_units(jitter.hue);
}

KernelCrop crop_of(const pictures::CropParameters& parameters, std::uint32_t picture_width) {
    const pictures::Region& region = parameters.region;
    const pictures::Extent extent = region.extent;
    KernelCrop crop{
        .picture_width = picture_width,
        .left = region.left,
        .top = region.top,
        .width = extent.width,
        .height = extent.height,
        .size = parameters.size,
        .across_taps = pictures::TriangleFilter{extent.width, parameters.size}.max_taps(),
        .down_taps = pictures::TriangleFilter{extent.height, parameters.size}.max_taps(),
        .is_flipped = parameters.is_flipped ? 1u : 0u,
        .is_gray = parameters.is_gray ? 1u : 0u,
        .is_blurred = parameters.blur_radius != 0 ? 1u : 0u};
    set_colours(parameters.jitter, crop);
    const pictures::Box box = pictures::box_of(parameters.blur_radius);
    crop.box_radius = box.radius;
    crop.box_inner = box.inner;
    crop.box_outer = box.outer;
    return crop;
}

/// Page-locked if a GPU copies from it and the machine can lock so much.
at::Tensor empty_bytes(std::int64_t count, const training::Computation& computation) {
    const auto options = at::dtype(at::kByte);
    if (computation.cuda) {
        try {
            return at::empty({count}, options.pinned_memory(true));
        } catch (const c10::Error&) {
            // The copy takes longer, and the result is the same.
        }
    }
    return at::empty({count}, options);
}

std::array<float, 3> floats_of(const std::array<double, 3>& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1]),
            static_cast<float>(values[2])};
}

}  // namespace

PackedCrops::PackedCrops(const formats::SwavSpec& task, const LoadedPictures& loaded,
                         const training::Computation& computation)
    : task_(&task), pictures_(loaded.decoded.size()) {
    std::size_t each = 0;
    for (const formats::CropSpec& crop : task.crops) each += static_cast<std::size_t>(crop.count);
    DEDLOC_CHECK(loaded.fits && loaded.crops.size() == each * loaded.decoded.size(),
                 "pictures and crops of another task", loaded.crops.size(), each);
    std::vector<std::uint64_t> places;
    std::uint64_t bytes = 0;
    for (const pictures::Picture& picture : loaded.decoded) {
        places.push_back(bytes);
        bytes += picture.rgb.size();
    }
    std::size_t first = 0;
    for (const formats::CropSpec& size : task.crops) {
        begins_.push_back(out_count_);
        const auto values = static_cast<std::int64_t>(3 * size.size * size.size);
        for (std::size_t k = 0; k < size.count; ++k) {
            for (std::size_t i = 0; i < loaded.decoded.size(); ++i) {
                KernelCrop& crop = table_.emplace_back(
                    crop_of(loaded.crops[i * each + first + k], loaded.decoded[i].width));
                crop.picture = places[i];
                crop.out = static_cast<std::uint64_t>(out_count_);
                out_count_ += values;
            }
        }
        first += static_cast<std::size_t>(size.count);
        out_count_ = (out_count_ + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
    }
    const auto table = std::as_bytes(std::span{table_});
    bytes_ = empty_bytes(static_cast<std::int64_t>(table.size() + bytes), computation);
    auto* const to = bytes_.mutable_data_ptr<std::uint8_t>();
    std::memcpy(to, table.data(), table.size());
    at::parallel_for(
        0, static_cast<std::int64_t>(loaded.decoded.size()), 1,
        [&](std::int64_t from, std::int64_t end) {
            for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(end); ++i) {
                std::ranges::copy(loaded.decoded[i].rgb, to + table.size() + places[i]);
            }
        });
}

CropBatch PackedCrops::batch(StepIndex step) const {
    return {.pictures = pictures_, .step = step.value(), .sizes = {}, .packed = this};
}

std::vector<at::Tensor> PackedCrops::make(const training::Computation& computation) const {
    DEDLOC_CHECK(computation.crops != nullptr, "the device has no kernel of crops");
    training::CropKernel& kernel = *computation.crops;
    const at::Device device = training::device_of(computation);
    const at::Tensor there = bytes_.to(device, at::kByte, /*non_blocking=*/true);
    const auto workspace_bytes = static_cast<std::int64_t>(kernel.workspace_bytes(table_));
    const at::Tensor workspace = at::empty({workspace_bytes}, at::device(device).dtype(at::kByte));
    const at::Tensor out =
        at::empty({out_count_}, at::device(device).dtype(training::type_of(computation.precision)));
    const std::size_t table_bytes = table_.size() * sizeof(KernelCrop);
    const std::uint8_t* const first = there.const_data_ptr<std::uint8_t>();
    kernel.make({.table = table_,
                 .crops = static_cast<const KernelCrop*>(static_cast<const void*>(first)),
                 .pictures = first + table_bytes,
                 .picture_bytes = static_cast<std::uint64_t>(there.numel()) - table_bytes,
                 .workspace = static_cast<std::byte*>(workspace.mutable_data_ptr()),
                 .out = out.mutable_data_ptr(),
                 .out_count = static_cast<std::uint64_t>(out_count_),
                 .precision = computation.precision,
                 .mean = floats_of(task_->colours.mean),
                 .deviation = floats_of(task_->colours.deviation)});
    std::vector<at::Tensor> sizes;
    for (std::size_t i = 0; i < task_->crops.size(); ++i) {
        const auto size = static_cast<std::int64_t>(task_->crops[i].size);
        const auto count = static_cast<std::int64_t>(task_->crops[i].count * pictures_);
        sizes.push_back(out.narrow(0, begins_[i], count * 3 * size * size)
                            .view({count, size, size, 3})
                            .permute({0, 3, 1, 2}));
    }
    return sizes;
}

}  // namespace dedloc::swav
