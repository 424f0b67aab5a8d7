// Pictures of strangers: the decoder of JPEGs, and the reader of their segments.
#include <span>

#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "peer/base/check.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void fuzz_picture(std::span<const std::byte> input) {
    // Small bounds, so that an input costs milliseconds; the last byte chooses the scale.
    const auto choice = input.empty() ? 0u : std::to_integer<unsigned>(input.back());
    const pictures::DecodeOptions options{
        .min_side = choice % 3 == 0 ? 1'000'000u : choice, .max_pixels = 1 << 18, .max_scans = 20};
    const auto head = pictures::read_jpeg_head(input, options);
    const auto picture = pictures::decode_jpeg(input, options);
    if (!picture) {
        DEDLOC_CHECK(!picture.reason().sentence.empty(), "a refusal has a sentence");
        return;
    }
    DEDLOC_CHECK(bool{head}, "a picture has a head");
    DEDLOC_CHECK(picture->rgb.size() == std::size_t{3} * picture->width * picture->height,
                 "three bytes for each pixel");
    DEDLOC_CHECK(picture->width >= 1 && picture->width <= head->width, "scales only shrink");
    DEDLOC_CHECK(picture->height >= 1 && picture->height <= head->height, "scales only shrink");
}

}  // namespace dedloc::fuzz
