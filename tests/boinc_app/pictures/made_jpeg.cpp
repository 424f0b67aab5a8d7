// libjpeg's default error handler ends the process, which is what a test needs.
#include "tests/boinc_app/pictures/made_jpeg.hpp"

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace dedloc::tests {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;

/// Bytes of a pixel as libjpeg takes them.
int channels_of(Colours colours) {
    if (colours == Colours::kGray) return 1;
    return colours == Colours::kCmyk || colours == Colours::kYcck ? 4 : 3;
}

std::vector<JSAMPLE> row_of(const pictures::Picture& picture, std::size_t y, Colours colours) {
    std::vector<JSAMPLE> row;
    for (std::size_t x = 0; x < picture.width; ++x) {
        const auto* const pixel = picture.rgb.data() + 3 * (y * picture.width + x);
        if (colours == Colours::kGray) {
            row.push_back(pixel[0]);
        } else {
            row.insert(row.end(), pixel, pixel + 3);
            if (channels_of(colours) == 4) row.push_back(255);  // inverted: no black
        }
    }
    return row;
}

std::vector<JOCTET> exif_of(unsigned orientation, bool is_little) {
    std::vector<JOCTET> bytes{'E', 'x', 'i', 'f', 0, 0};
    const auto put = [&](unsigned value, int count) {
        for (int i = 0; i < count; ++i) {
            const int shift = 8 * (is_little ? i : count - 1 - i);
            bytes.push_back(static_cast<JOCTET>(value >> shift));
        }
    };
    bytes.insert(bytes.end(), 2, is_little ? 'I' : 'M');
    put(42, 2);
    put(8, 4);
    put(2, 2);                                        // entries
    put(0x0100, 2), put(3, 2), put(1, 4), put(7, 2);  // a width
    put(0, 2);
    put(0x0112, 2), put(3, 2), put(1, 4), put(orientation, 2);
    put(0, 2);
    put(0, 4);
    return bytes;
}

void set_form(jpeg_compress_struct& info, const JpegForm& form) {
    constexpr std::array kSpaces{JCS_YCbCr, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK};
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, kSpaces[static_cast<std::size_t>(form.colours)]);
    jpeg_set_quality(&info, form.quality, TRUE);
    info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = form.chroma;
    if (form.colours == Colours::kYcck) {
        info.comp_info[3].h_samp_factor = info.comp_info[3].v_samp_factor = form.chroma;
    }
    if (form.colours == Colours::kRgb || form.colours == Colours::kCmyk) {
        info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
    }
    if (form.is_progressive) jpeg_simple_progression(&info);
    info.arith_code = form.has_arithmetic_codes ? TRUE : FALSE;
    info.restart_in_rows = static_cast<int>(form.restart_rows);
}

}  // namespace

Buffer made_jpeg(const pictures::Picture& picture, const JpegForm& form) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = picture.width;
    info.image_height = picture.height;
    info.input_components = channels_of(form.colours);
    info.in_color_space = info.input_components == 1   ? JCS_GRAYSCALE
                          : info.input_components == 4 ? JCS_CMYK
                                                       : JCS_RGB;
    set_form(info, form);
    jpeg_start_compress(&info, TRUE);
    if (form.orientation != 0) {
        const auto exif = exif_of(form.orientation, form.is_little_endian);
        jpeg_write_marker(&info, kExifMarker, exif.data(), static_cast<unsigned>(exif.size()));
    }
    if (form.comment != nullptr) {
        jpeg_write_marker(&info, JPEG_COM, reinterpret_cast<const JOCTET*>(form.comment),
                          static_cast<unsigned>(std::strlen(form.comment)));
    }
    for (std::size_t y = 0; y < picture.height; ++y) {
        auto row = row_of(picture, y, form.colours);
        JSAMPROW at = row.data();
        jpeg_write_scanlines(&info, &at, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
    Buffer out(begin, begin + size);
    std::free(bytes);
    return out;
}

pictures::Picture smooth_picture(std::uint32_t width, std::uint32_t height) {
    pictures::Picture picture{.width = width, .height = height};
    const auto share = [](std::uint32_t at, std::uint32_t size) {
        return size < 2 ? 0u : 200u * at / (size - 1);
    };
    for (std::uint32_t y = 0; y < height; ++y) {
        for (std::uint32_t x = 0; x < width; ++x) {
            picture.rgb.push_back(static_cast<std::uint8_t>(20 + share(x, width)));
            picture.rgb.push_back(static_cast<std::uint8_t>(20 + share(y, height)));
            picture.rgb.push_back(
                static_cast<std::uint8_t>(220 - (share(x, width) + share(y, height)) / 2));
        }
    }
    return picture;
}

}  // namespace dedloc::tests
