// The ratio is eˣ for a uniform x from −ln(4/3) to ln(4/3). The C library's exp() may differ in the
// last bit between machines, which can round a width up on one and down on another, so the power
// series is summed here: with |x| < 0.29 its first fourteen terms are exact to the last bit or two,
// and every machine rounds them alike.
#include "boinc_app/pictures/crop_parameters.hpp"

#include <cmath>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::pictures {
namespace {

constexpr int kTries = 10;
constexpr double kMinRatio = 3.0 / 4.0;
constexpr double kMaxRatio = 4.0 / 3.0;
constexpr double kLogMaxRatio = 0.28768207245178096;  // ln(4/3)

double uniform_between(double min, double max, Random& random) {
    return min + (max - min) * random.uniform();
}

/// eˣ for |x| ≤ ln(4/3), by Horner's rule.
double small_power_of_e(double x) {
    double sum = 1;
    for (int i = 13; i >= 1; --i) sum = 1 + sum * x / i;
    return sum;
}

/// The nearest whole number of pixels; 0 and more.
std::uint64_t nearest(double pixels) {
    return static_cast<std::uint64_t>(std::floor(pixels + 0.5));
}

/// The largest region in the middle whose ratio is within the bounds.
Region middle_of(Extent picture) {
    const double width = picture.width;
    const double height = picture.height;
    Extent extent = picture;
    if (width / height < kMinRatio) {
        extent.height = static_cast<std::uint32_t>(nearest(width / kMinRatio));
    } else if (width / height > kMaxRatio) {
        extent.width = static_cast<std::uint32_t>(nearest(height * kMaxRatio));
    }
    return {.left = (picture.width - extent.width) / 2,
            .top = (picture.height - extent.height) / 2,
            .extent = extent};
}

Region draw_region(const formats::CropSpec& crop, Extent picture, Random random) {
    const double area = static_cast<double>(picture.width) * static_cast<double>(picture.height);
    for (int i = 0; i < kTries; ++i) {
        const double target = area * uniform_between(crop.min_area, crop.max_area, random);
        const double ratio = small_power_of_e(uniform_between(-kLogMaxRatio, kLogMaxRatio, random));
        const std::uint64_t width = nearest(std::sqrt(target * ratio));
        const std::uint64_t height = nearest(std::sqrt(target / ratio));
        if (width < 1 || width > picture.width || height < 1 || height > picture.height) continue;
        const std::uint64_t top = random.below(picture.height - height + 1);
        const std::uint64_t left = random.below(picture.width - width + 1);
        return {.left = static_cast<std::uint32_t>(left),
                .top = static_cast<std::uint32_t>(top),
                .extent = {.width = static_cast<std::uint32_t>(width),
                           .height = static_cast<std::uint32_t>(height)}};
    }
    return middle_of(picture);
}

/// A factor from 1 − strength, at least 0, to 1 + strength.
double draw_factor(double strength, Random& random) {
    return uniform_between(strength < 1 ? 1 - strength : 0.0, 1 + strength, random);
}

Jitter draw_jitter(const formats::ColourSpec& colours, Random random) {
    Jitter jitter;
    const bool is_applied = random.uniform() < colours.jitter;
    jitter.brightness = draw_factor(colours.brightness, random);
    jitter.contrast = draw_factor(colours.contrast, random);
    jitter.saturation = draw_factor(colours.saturation, random);
    jitter.hue = uniform_between(-colours.hue, colours.hue, random);
    for (std::size_t last = jitter.order.size() - 1; last > 0; --last) {
        std::swap(jitter.order[last], jitter.order[random.below(last + 1)]);
    }
    return is_applied ? jitter : Jitter{};
}

}  // namespace

CropParameters draw_crop(const formats::CropSpec& crop, const formats::ColourSpec& colours,
                         Extent picture, Random random) {
    DEDLOC_CHECK(picture.width >= 1 && picture.height >= 1, "a picture has pixels", picture.width,
                 picture.height);
    DEDLOC_CHECK(crop.size >= 1 && crop.size <= 1u << 31, "a crop has a size", crop.size);
    CropParameters parameters;
    parameters.size = static_cast<std::uint32_t>(crop.size);
    // The region has a generator of its own, because the number of tries varies.
    parameters.region = draw_region(crop, picture, random.split(0));
    parameters.is_flipped = random.uniform() < 0.5;
    parameters.jitter = draw_jitter(colours, random.split(1));
    parameters.is_gray = random.uniform() < colours.gray;
    const bool is_blurred = random.uniform() < colours.blur;
    const double radius = uniform_between(colours.min_radius, colours.max_radius, random);
    if (is_blurred) parameters.blur_radius = radius;
    return parameters;
}

}  // namespace dedloc::pictures
