// The decoder against pictures that this test codes: colours, codings, orientations, scales, and
// what is cut, too large or not a JPEG.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "boinc_app/pictures/jpeg_segments.hpp"
#include "peer/base/random.hpp"
#include "tests/boinc_app/pictures/made_jpeg.hpp"

namespace dedloc::pictures {
namespace {

using tests::Colours;
using tests::JpegForm;
using tests::made_jpeg;
using tests::smooth_picture;

/// Largest difference of any value.
int distance(const Picture& a, const Picture& b) {
    REQUIRE(a.width == b.width);
    REQUIRE(a.height == b.height);
    REQUIRE(a.rgb.size() == b.rgb.size());
    int largest = 0;
    for (std::size_t i = 0; i < a.rgb.size(); ++i) {
        largest = std::max(largest, std::abs(a.rgb[i] - b.rgb[i]));
    }
    return largest;
}

Picture decoded(const Buffer& jpeg, const DecodeOptions& options = {}) {
    auto picture = decode_jpeg(jpeg, options);
    if (!picture) FAIL(picture.reason().sentence);
    return std::move(picture).value();
}

Fault fault_of_decoding(const Buffer& jpeg, const DecodeOptions& options = {}) {
    const auto picture = decode_jpeg(jpeg, options);
    REQUIRE(!picture);
    CHECK(!picture.reason().sentence.empty());
    return picture.reason().fault;
}

/// A picture of noise, whose JPEG has coefficients of all frequencies.
Picture noise(std::uint32_t width, std::uint32_t height) {
    Random random{5};
    Picture picture{.width = width, .height = height};
    picture.rgb.resize(std::size_t{3} * width * height);
    for (auto& value : picture.rgb) value = static_cast<std::uint8_t>(random.below(256));
    return picture;
}

std::array<int, 3> pixel(const Picture& picture, std::size_t x, std::size_t y) {
    const auto* const at = picture.rgb.data() + 3 * (y * picture.width + x);
    return {at[0], at[1], at[2]};
}

bool is_near(std::array<int, 3> a, std::array<int, 3> b) {
    return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]) < 40;
}

/// The corner that a letter of "abcd" means: top left, top right, bottom left, bottom right.
std::array<int, 3> corner(const Picture& picture, char name) {
    return pixel(picture, name == 'b' || name == 'd' ? picture.width - 1 : 0,
                 name == 'c' || name == 'd' ? picture.height - 1 : 0);
}

/// The mean of the pixels of a full picture that one pixel of a scaled one covers.
double mean_of(const Picture& full, std::size_t x, std::size_t y, std::size_t n, std::size_t c) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t from_y = y * 8 / n;
         from_y < std::min<std::size_t>(full.height, (y + 1) * 8 / n); ++from_y) {
        for (std::size_t from_x = x * 8 / n;
             from_x < std::min<std::size_t>(full.width, (x + 1) * 8 / n); ++from_x, ++count) {
            sum += full.rgb[3 * (from_y * full.width + from_x) + c];
        }
    }
    return count == 0 ? -1 : sum / static_cast<double>(count);
}

TEST_CASE("a picture comes back in every coding and in every kind of colours", "[pictures]") {
    const Picture source = smooth_picture(61, 43);
    for (const Colours colours : {Colours::kYcc, Colours::kRgb, Colours::kCmyk, Colours::kYcck}) {
        for (const bool is_progressive : {false, true}) {
            for (const int chroma : {1, 2}) {
                for (const bool is_arithmetic : {false, true}) {
                    CAPTURE(static_cast<int>(colours), is_progressive, chroma, is_arithmetic);
                    const Buffer jpeg =
                        made_jpeg(source, {.colours = colours,
                                           .quality = 98,
                                           .chroma = chroma,
                                           .is_progressive = is_progressive,
                                           .has_arithmetic_codes = is_arithmetic,
                                           .restart_rows = is_progressive ? 0u : 1u});
                    CHECK(distance(decoded(jpeg), source) <= 12);
                }
            }
        }
    }
}

TEST_CASE("a gray picture has three equal colours", "[pictures]") {
    const Picture source = smooth_picture(40, 17);
    const auto gray = decoded(made_jpeg(source, {.colours = Colours::kGray, .quality = 98}));
    REQUIRE(gray.rgb.size() == source.rgb.size());
    for (std::size_t i = 0; i < gray.rgb.size(); i += 3) {
        CHECK(gray.rgb[i] == gray.rgb[i + 1]);
        CHECK(gray.rgb[i] == gray.rgb[i + 2]);
        CHECK(std::abs(gray.rgb[i] - source.rgb[i]) <= 6);
    }
}

TEST_CASE("pictures of one pixel and of one row are decoded", "[pictures]") {
    constexpr std::array<std::array<std::uint32_t, 2>, 4> kSizes{
        {{1, 1}, {1, 500}, {500, 1}, {7, 9}}};
    for (const auto& [width, height] : kSizes) {
        const Picture source = smooth_picture(width, height);
        CHECK(distance(decoded(made_jpeg(source, {.quality = 98, .chroma = 1})), source) <= 12);
        const auto small = decoded(made_jpeg(source), {.min_side = 1});
        CHECK(small.width == (width + 7) / 8);
        CHECK(small.height == (height + 7) / 8);
    }
}

TEST_CASE("the eight orientations turn and mirror as EXIF says", "[pictures]") {
    // The corners a b (top) and c d (bottom) of the file, as they appear upright.
    const std::array<const char*, 9> upright{"abcd", "abcd", "badc", "dcba", "cdab",
                                             "acbd", "cadb", "dbca", "bdac"};
    const Picture source = smooth_picture(48, 24);
    for (unsigned orientation = 0; orientation <= 8; ++orientation) {
        for (const bool is_little : {false, true}) {
            CAPTURE(orientation, is_little);
            const Buffer jpeg = made_jpeg(
                source, {.quality = 98, .orientation = orientation, .is_little_endian = is_little});
            CHECK(exif_orientation(jpeg) == std::max(1u, orientation));
            const auto head = read_jpeg_head(jpeg);
            REQUIRE(head);
            const Picture picture = decoded(jpeg);
            CHECK(picture.width == (orientation >= 5 ? 24 : 48));
            CHECK(head->width == picture.width);
            CHECK(head->height == picture.height);
            for (std::size_t i = 0; i < 4; ++i) {
                CAPTURE(i);
                CHECK(is_near(corner(picture, "abcd"[i]), corner(source, upright[orientation][i])));
            }
        }
    }
    for (const unsigned unknown : {9u, 0xFFFFu}) {
        CHECK(exif_orientation(made_jpeg(source, {.orientation = unknown})) == 1);
    }
}

TEST_CASE("the smallest scale that suffices is decoded, near the full picture's means",
          "[pictures]") {
    const Picture source = smooth_picture(333, 200);
    for (const bool is_progressive : {false, true}) {
        const Buffer jpeg =
            made_jpeg(source, {.quality = 98, .chroma = 1, .is_progressive = is_progressive});
        const Picture full = decoded(jpeg);
        for (const std::uint32_t min_side :
             {1u, 25u, 26u, 50u, 96u, 100u, 101u, 175u, 176u, 200u}) {
            CAPTURE(is_progressive, min_side);
            std::size_t n = 1;
            while (n < 8 && (200 * n + 7) / 8 < min_side) ++n;
            const Picture scaled = decoded(jpeg, {.min_side = min_side});
            CHECK(scaled.width == (333 * n + 7) / 8);
            CHECK(scaled.height == (200 * n + 7) / 8);
            CHECK(std::min(scaled.width, scaled.height) >= min_side);
            double worst = 0;
            for (std::size_t y = 0; y + 1 < scaled.height; ++y) {
                for (std::size_t x = 0; x + 1 < scaled.width; ++x) {
                    for (std::size_t c = 0; c < 3; ++c) {
                        const double mean = mean_of(full, x, y, n, c);
                        if (mean < 0) continue;
                        const double ours = pixel(scaled, x, y)[c];
                        worst = std::max(worst, std::abs(mean - ours));
                    }
                }
            }
            CHECK(worst < 6);
        }
        CHECK(decoded(jpeg, {.min_side = 201}).width == 333);
    }
}

TEST_CASE("pixels, scans and memory are bounded by the head", "[pictures]") {
    Buffer jpeg = made_jpeg(smooth_picture(64, 64), {.is_progressive = true});
    CHECK(fault_of_decoding(jpeg, {.max_pixels = 64 * 64 - 1}) == Fault::kTooLarge);
    CHECK(decoded(jpeg, {.max_pixels = 64 * 64}).width == 64);
    CHECK(fault_of_decoding(jpeg, {.max_scans = 3}) == Fault::kTooManyScans);
    const std::array frame{std::byte{0xFF}, std::byte{0xC2}};
    const auto at = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
    for (const int i : {5, 7}) {  // height and width of the frame
        at[i] = std::byte{0xFF};
        at[i + 1] = std::byte{0xDC};  // 65,500
    }
    CHECK(fault_of_decoding(jpeg) == Fault::kTooLarge);
    CHECK_FALSE(read_jpeg_head(jpeg));
    at[5] = at[6] = std::byte{0};
    CHECK(fault_of_decoding(jpeg) == Fault::kBroken);
}

TEST_CASE("a file that is cut anywhere is refused, or has every pixel", "[pictures]") {
    const Picture source = noise(24, 16);
    for (const JpegForm& form :
         {JpegForm{}, JpegForm{.is_progressive = true}, JpegForm{.has_arithmetic_codes = true}}) {
        const Buffer jpeg = made_jpeg(source, form);
        const Picture whole = decoded(jpeg);
        std::size_t accepted = 0;
        for (std::size_t size = 0; size < jpeg.size(); ++size) {
            const auto picture = decode_jpeg(std::span{jpeg}.first(size));
            if (!picture) continue;
            ++accepted;
            CHECK(picture->rgb == whole.rgb);
        }
        const bool needs_end = form.is_progressive || form.has_arithmetic_codes;
        CAPTURE(form.is_progressive, form.has_arithmetic_codes);
        CHECK(accepted <= (needs_end ? 1u : 4u));
        CHECK((needs_end || accepted >= 2));  // without its end marker, or half of it
    }
}

TEST_CASE("altered bytes never break the decoder", "[pictures]") {
    Random random{9};
    for (const bool is_progressive : {false, true}) {
        const Buffer jpeg = made_jpeg(
            noise(32, 24), {.is_progressive = is_progressive, .restart_rows = 0, .orientation = 6});
        for (int round = 0; round < 2'000; ++round) {
            Buffer altered = jpeg;
            for (int i = 0; i < 3; ++i) {
                altered[random.below(altered.size())] = static_cast<std::byte>(random.below(256));
            }
            const auto picture = decode_jpeg(altered, {.max_pixels = 1 << 16});
            if (picture) {
                CHECK(picture->rgb.size() == std::size_t{3} * picture->width * picture->height);
            }
        }
    }
}

TEST_CASE("bytes that are no JPEG are refused", "[pictures]") {
    CHECK(fault_of_decoding({}) == Fault::kNotAPicture);
    CHECK(fault_of_decoding(Buffer(1, std::byte{0xFF})) == Fault::kNotAPicture);
    CHECK(fault_of_decoding(Buffer(100, std::byte{0x47})) == Fault::kNotAPicture);
    CHECK(fault_of_decoding({std::byte{0xFF}, std::byte{0xD8}}) == Fault::kBroken);
}

}  // namespace
}  // namespace dedloc::pictures
