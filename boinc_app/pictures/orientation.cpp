#include "boinc_app/pictures/orientation.hpp"

#include <cstddef>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::pictures {

Picture oriented(Picture picture, unsigned orientation) {
    DEDLOC_CHECK(orientation >= 1 && orientation <= 8, "EXIF numbers eight orientations",
                 orientation);
    if (orientation == 1) return picture;
    const bool is_transposed = orientation >= 5;
    // The pixel at (x, y) of the result is that at (from_x, from_y) of the source. The transposing
    // orientations exchange x and y first.
    const bool flips_x =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool flips_y =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    Picture out{.width = is_transposed ? picture.height : picture.width,
                .height = is_transposed ? picture.width : picture.height};
    out.rgb.resize(picture.rgb.size());
    std::size_t to = 0;
    for (std::size_t y = 0; y < out.height; ++y) {
        for (std::size_t x = 0; x < out.width; ++x, to += 3) {
            std::size_t from_x = is_transposed ? y : x;
            std::size_t from_y = is_transposed ? x : y;
            if (flips_x) from_x = picture.width - 1 - from_x;
            if (flips_y) from_y = picture.height - 1 - from_y;
            const std::size_t from = 3 * (from_y * picture.width + from_x);
            for (std::size_t c = 0; c < 3; ++c) out.rgb[to + c] = picture.rgb[from + c];
        }
    }
    return out;
}

}  // namespace dedloc::pictures
