// The interface to a GPU's kernel that makes crops of pictures: it resizes, flips, changes colours,
// blurs and normalises, with the bytes of boinc_app/pictures/crops.hpp. A GPU's plug-in implements
// it (boinc_app/cuda/crops); a test runs the same code on the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "boinc_app/training/computation.hpp"

namespace dedloc::training {

/// An operation on the colours of a crop.
enum class CropColour : std::uint32_t {
    kNone,        ///< nothing; no other operation follows
    kBrightness,  ///< towards black by `factors[0]`
    kContrast,    ///< towards the mean luma of the crop by `factors[1]`
    kSaturation,  ///< towards the luma of each pixel by `factors[2]`
    kHue,         ///< turned by `hue_shift`
};

/// A crop to be made: plain numbers, which travel to the device as they are.
struct KernelCrop {
    std::uint64_t picture = 0;            ///< index of the picture's first byte
    std::uint64_t out = 0;                ///< index of the first value of the crop
    std::uint32_t picture_width = 0;      ///< pixels of a row of the picture
    std::uint32_t left = 0;               ///< the region, in pixels: columns before it
    std::uint32_t top = 0;                ///< rows above it
    std::uint32_t width = 0;              ///< at least 1
    std::uint32_t height = 0;             ///< at least 1
    std::uint32_t size = 0;               ///< pixels of each side of the crop
    std::uint32_t across_taps = 0;        ///< pictures::TriangleFilter::max_taps() along rows
    std::uint32_t down_taps = 0;          ///< along columns
    std::uint32_t is_flipped = 0;         ///< 1: left and right change places
    std::uint32_t is_gray = 0;            ///< 1: all channels are the luma
    std::array<CropColour, 4> colours{};  ///< in their order, before gray
    std::array<float, 3> factors{};       ///< brightness, contrast, saturation
    std::int32_t hue_shift = 0;           ///< in 1/255 turn
    std::uint32_t is_blurred = 0;         ///< 1: by a Gaussian, three boxes a direction
    std::uint32_t box_radius = 0;         ///< the box (pictures::Box): its radius
    std::uint32_t box_inner = 0;          ///< weight of a pixel in it
    std::uint32_t box_outer = 0;          ///< weight of the pixels at its ends
};

/// The most pixels of a crop's side.
inline constexpr std::uint32_t kMaxKernelCrop = 4'096;

/// The arguments of a CropKernel. Pointers are to the device's memory, except `table`.
struct CropCall {
    std::span<const KernelCrop> table;       ///< in host memory, for checks; read before the return
    const KernelCrop* crops = nullptr;       ///< the same table on the device
    const std::uint8_t* pictures = nullptr;  ///< rows of pixels: red, green, blue
    std::uint64_t picture_bytes = 0;         ///< number of bytes there
    std::byte* workspace = nullptr;          ///< workspace_bytes(table), at a multiple of 16 bytes
    void* out = nullptr;                     ///< [size, size, 3] for each crop, in `precision`
    std::uint64_t out_count = 0;             ///< number of values there
    Precision precision = Precision::kFp32;  ///< number format of the result
    std::array<float, 3> mean{};             ///< red, green, blue, in [0, 1]
    std::array<float, 3> deviation{};        ///< likewise
};

/// The kernel. Thread: one at a time.
class CropKernel {
  public:
    virtual ~CropKernel() = default;

    /// Bytes that make() needs for these crops: those of as many of the largest ones as are made at
    /// the same time.
    virtual std::size_t workspace_bytes(std::span<const KernelCrop> table) const = 0;

    /// Makes all crops with one launch. Returns before the device has finished; the stream is that
    /// of the Accelerator.
    ///
    /// Promise   the bytes of pictures::make_crop(), normalised as there, and rounded to nearest
    ///           even where the precision is short, as libtorch rounds
    /// Requires  sizes from 1 to kMaxKernelCrop; pictures, regions and results within the memory
    ///           that the call names (aborts)
    /// Errors    DeviceError
    virtual void make(const CropCall& call) = 0;
};

}  // namespace dedloc::training
