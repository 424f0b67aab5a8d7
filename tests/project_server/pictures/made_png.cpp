// libpng's default error handler ends the process, which is what a test needs.
#include "tests/project_server/pictures/made_png.hpp"

#include <png.h>

#include <array>
#include <vector>

namespace dedloc::tests {
namespace {

int type_of(PngForm form) {
    if (form == PngForm::kRgba) return PNG_COLOR_TYPE_RGBA;
    if (form == PngForm::kGray16) return PNG_COLOR_TYPE_GRAY;
    if (form == PngForm::kPalette) return PNG_COLOR_TYPE_PALETTE;
    return PNG_COLOR_TYPE_RGB;
}

std::vector<png_byte> bytes_of_row(const pictures::Picture& picture, std::size_t y, PngForm form) {
    std::vector<png_byte> row;
    for (std::size_t x = 0; x < picture.width; ++x) {
        const auto* const pixel = picture.rgb.data() + 3 * (y * picture.width + x);
        if (form == PngForm::kPalette) {
            const auto index = static_cast<png_byte>(pixel[0] / 16);
            if (x % 2 == 0) row.push_back(0);
            row.back() = static_cast<png_byte>(row.back() | (x % 2 == 0 ? index << 4 : index));
            continue;
        }
        for (std::size_t c = 0; c < (form == PngForm::kGray16 ? 1u : 3u); ++c) {
            row.push_back(pixel[c]);
            if (form == PngForm::kRgb16 || form == PngForm::kGray16) {
                row.push_back(static_cast<png_byte>(37 * x));
            }
        }
        if (form == PngForm::kRgba) row.push_back(static_cast<png_byte>(x % 256));
    }
    return row;
}

void append(png_structp png, png_bytep bytes, std::size_t count) {
    auto* const out = static_cast<Buffer*>(png_get_io_ptr(png));
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
    out->insert(out->end(), begin, begin + count);
}

}  // namespace

Buffer made_png(const pictures::Picture& picture, PngForm form) {
    Buffer out;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, append, [](png_structp) {});
    const bool is_deep = form == PngForm::kRgb16 || form == PngForm::kGray16;
    const int depth = form == PngForm::kPalette ? 4 : is_deep ? 16 : 8;
    png_set_IHDR(png, info, picture.width, picture.height, depth, type_of(form),
                 form == PngForm::kInterlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    std::array<png_color, 16> palette{};
    std::array<png_byte, 16> transparent{};
    for (std::size_t i = 0; i < palette.size(); ++i) {
        const auto gray = static_cast<png_byte>(16 * i + 8);
        palette[i] = {gray, gray, gray};
    }
    if (form == PngForm::kPalette) {
        png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
        png_set_tRNS(png, info, transparent.data(), 3, nullptr);
    }
    png_write_info(png, info);
    std::vector<std::vector<png_byte>> rows;
    std::vector<png_bytep> starts;
    for (std::size_t y = 0; y < picture.height; ++y) {
        rows.push_back(bytes_of_row(picture, y, form));
        starts.push_back(rows.back().data());
    }
    png_write_image(png, starts.data());
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return out;
}

}  // namespace dedloc::tests
