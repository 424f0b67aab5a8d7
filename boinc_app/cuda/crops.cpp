// A launch has no more blocks than the device runs at the same time, so that the workspace is small
// enough to stay in its cache for the most part; blocks take the crops in turn.
#include "boinc_app/cuda/crops.hpp"

#include <algorithm>

#include "boinc_app/cuda/crop_body.hpp"
#include "boinc_app/cuda/trainer_launch.hpp"
#include "kernels/check.hpp"

namespace dedloc::training {
namespace {

/// Largest workspace of a crop among these.
std::size_t largest_of(std::span<const KernelCrop> table) {
    std::size_t largest = 0;
    for (const KernelCrop& crop : table) largest = std::max(largest, CropPlaces{crop}.end);
    return largest;
}

void require_crop(const KernelCrop& crop, const CropCall& call) {
    DEDLOC_KERNEL_REQUIRE(crop.size >= 1 && crop.size <= kMaxKernelCrop,
                          "a crop has 1 to 4,096 pixels a side", static_cast<double>(crop.size));
    DEDLOC_KERNEL_REQUIRE(crop.width >= 1 && crop.left < crop.picture_width &&
                              crop.width <= crop.picture_width - crop.left && crop.height >= 1,
                          "the region is within the picture", static_cast<double>(crop.left),
                          static_cast<double>(crop.width));
    // Of 32 bits each, so no product or sum overflows.
    const std::uint64_t rows = std::uint64_t{crop.top} + crop.height;
    const bool is_inside = crop.picture <= call.picture_bytes &&
                           rows <= (call.picture_bytes - crop.picture) / 3 / crop.picture_width;
    DEDLOC_KERNEL_REQUIRE(is_inside, "the picture is within its memory",
                          static_cast<double>(crop.picture), static_cast<double>(rows));
    const std::uint64_t values = std::uint64_t{3} * crop.size * crop.size;
    DEDLOC_KERNEL_REQUIRE(crop.out <= call.out_count && values <= call.out_count - crop.out,
                          "the crop is within the memory of the results",
                          static_cast<double>(crop.out));
    DEDLOC_KERNEL_REQUIRE(
        crop.across_taps == pictures::TriangleFilter(crop.width, crop.size).max_taps() &&
            crop.down_taps == pictures::TriangleFilter(crop.height, crop.size).max_taps(),
        "the numbers of taps are those of the axes", static_cast<double>(crop.across_taps),
        static_cast<double>(crop.down_taps));
}

/// Calls call(T{}) with the type of a result's values.
template <class Call>
void with_format(Precision precision, const Call& call) {
    switch (precision) {
        case Precision::kFp32:
            return call(float{});
        case Precision::kBf16:
            return call(Bfloat16{});
        case Precision::kFp16:
            return call(Half{});
    }
}

}  // namespace

Crops::Crops(kernels::cuda::StreamView stream, unsigned multiprocessors)
    : stream_(stream), multiprocessors_(std::max(multiprocessors, 1U)) {}

std::size_t Crops::blocks_for(std::size_t crops) const {
    const std::size_t resident =
        std::size_t{kernels::cuda::resident_blocks<CropWork<float>>()} * multiprocessors_;
    return std::min(crops, resident);
}

std::size_t Crops::workspace_bytes(std::span<const KernelCrop> table) const {
    return blocks_for(table.size()) * largest_of(table);
}

void Crops::make(const CropCall& call) {
    for (const KernelCrop& crop : call.table) require_crop(crop, call);
    if (call.table.empty()) return;
    with_format(call.precision, [&]<class T>(T) {
        const CropWork<T> work{
            .crops = call.crops,
            .count = call.table.size(),
            .block_count = blocks_for(call.table.size()),
            .pixels = call.pictures,
            .workspace = call.workspace,
            .block_bytes = largest_of(call.table),
            .out = static_cast<T*>(call.out),
            .mean = {call.mean[0], call.mean[1], call.mean[2]},
            .deviation = {call.deviation[0], call.deviation[1], call.deviation[2]}};
        enqueue_for_trainer(work, stream_, "making crops");
    });
}

}  // namespace dedloc::training
