// Random crops of a picture, as torchvision's RandomResizedCrop, RandomHorizontalFlip, ColorJitter
// and RandomGrayscale and SwAV's GaussianBlur draw them, but from a public seed.
#pragma once

#include <array>
#include <cstdint>

#include "peer/base/random.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::pictures {

/// Width and height of a picture in pixels, each at least 1.
struct Extent {
    std::uint32_t width = 1;   ///< pixels of a row
    std::uint32_t height = 1;  ///< rows
    bool operator==(const Extent&) const = default;
};

/// A rectangle of pixels within a picture.
struct Region {
    std::uint32_t left = 0;  ///< pixels of the picture to the left of it
    std::uint32_t top = 0;   ///< rows of the picture above it
    Extent extent{};         ///< the rectangle's width and height
    bool operator==(const Region&) const = default;
};

/// An operation of the colour jitter.
enum class JitterOperation : std::uint8_t {
    kBrightness,  ///< towards black
    kContrast,    ///< towards the mean gray of the crop
    kSaturation,  ///< towards the gray of each pixel
    kHue,         ///< a turn of the colour circle
};

/// The colour jitter. A factor of 1 and a shift of 0 change nothing.
struct Jitter {
    double brightness = 1;  ///< factor, at least 0
    double contrast = 1;    ///< likewise
    double saturation = 1;  ///< likewise
    double hue = 0;         ///< shift in turns, from −0.5 to 0.5
    /// The operations in the order in which they are applied.
    std::array<JitterOperation, 4> order{JitterOperation::kBrightness, JitterOperation::kContrast,
                                         JitterOperation::kSaturation, JitterOperation::kHue};
    bool operator==(const Jitter&) const = default;
};

/// Everything that is random in a crop. The region is resized to a square, which is flipped,
/// jittered, made gray and blurred, in this order.
struct CropParameters {
    std::uint32_t size = 1;   ///< pixels of each side of the crop
    Region region{};          ///< the part of the picture
    bool is_flipped = false;  ///< left and right change places
    Jitter jitter{};          ///< none by default
    bool is_gray = false;     ///< all three channels are the luma
    double blur_radius = 0;   ///< deviation of the Gaussian blur in pixels; 0: no blur
    bool operator==(const CropParameters&) const = default;
};

/// Draws a crop of a picture. The area is a part of the picture's from min_area to max_area, the
/// ratio of width to height is log-uniform from 3/4 to 4/3; ten tries to fit such a region, else
/// the largest region in the middle with a ratio within these bounds. The position is uniform, as
/// are the factors of the jitter, its order and the radius of the blur. The flip has probability ½.
///
/// Promise   equal arguments give equal parameters on every machine: only integers and + − × ÷ √
///           of binary64 are used, no libm
/// Order     every number is drawn, used or not: another probability changes no other number
/// Requires  0 < min_area ≤ max_area ≤ 1, size from 1 to 2³¹, an extent of at least 1 × 1
/// Cost      60 random numbers at most, about a microsecond
/// Source    torchvision.transforms, facebookresearch/swav multicropdataset; differs: a hue of
///           exactly 0 changes nothing, also if the jitter was drawn
CropParameters draw_crop(const formats::CropSpec& crop, const formats::ColourSpec& colours,
                         Extent picture, Random random);

}  // namespace dedloc::pictures
