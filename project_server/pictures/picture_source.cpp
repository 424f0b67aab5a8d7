#include "project_server/pictures/picture_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/platform/files.hpp"
#include "project_server/pictures/jpeg_encoder.hpp"
#include "project_server/pictures/metadata.hpp"
#include "project_server/pictures/png_reader.hpp"

namespace dedloc::pictures {
namespace {

using Taken = Result<SourcePicture, SourceRefusal>;

Taken refused(PictureFault fault) {
    return Failure{SourceRefusal{name_of(fault.fault), std::move(fault.sentence)}};
}

Taken take_png(std::span<const std::byte> bytes, std::uint64_t max_pixels) {
    auto picture = read_png(bytes, max_pixels);
    if (!picture) return refused(picture.reason());
    if (std::max(picture->width, picture->height) > kMaxJpegSide) {
        return refused(
            {Fault::kTooLarge, fmt::format("it has {}x{} pixels, and a JPEG has at most "
                                           "{} on a side",
                                           picture->width, picture->height, kMaxJpegSide)});
    }
    return SourcePicture{.jpeg = encode_jpeg(*picture, kPngQuality),
                         .width = picture->width,
                         .height = picture->height};
}

Taken take_jpeg(std::span<const std::byte> bytes, std::uint64_t max_pixels) {
    auto jpeg = without_metadata(bytes);
    if (!jpeg) return refused(jpeg.reason());
    const DecodeOptions options{.min_side = 1, .max_pixels = max_pixels};
    const auto head = read_jpeg_head(*jpeg, options);
    if (!head) return refused(head.reason());
    const auto picture = decode_jpeg(*jpeg, options);
    if (!picture) return refused(picture.reason());
    return SourcePicture{
        .jpeg = std::move(jpeg).value(), .width = head->width, .height = head->height};
}

Taken take(std::span<const std::byte> bytes, std::uint64_t max_pixels) {
    if (is_png(bytes)) return take_png(bytes, max_pixels);
    auto taken = take_jpeg(bytes, max_pixels);
    if (!taken && taken.reason().reason == name_of(Fault::kNotAPicture)) {
        return refused({Fault::kNotAPicture, "it is neither a JPEG nor a PNG"});
    }
    return taken;
}

}  // namespace

Taken read_source(const std::filesystem::path& file, std::uint64_t max_pixels) {
    std::error_code failed;  // then reading says what is wrong
    const auto size = std::filesystem::file_size(file, failed);
    if (!failed && size > kMaxSourceBytes) {
        return Failure{SourceRefusal{
            "too many bytes",
            fmt::format("it has {} bytes, and {} are allowed", size, kMaxSourceBytes)}};
    }
    try {
        const Buffer bytes = platform::read_file(file, kMaxSourceBytes);
        auto taken = take(bytes, max_pixels);
        if (taken && taken->jpeg.size() > formats::kMaxPictureBytes) {
            return Failure{SourceRefusal{
                "too many bytes", fmt::format("its JPEG has {} bytes, and {} are allowed",
                                              taken->jpeg.size(), formats::kMaxPictureBytes)}};
        }
        return taken;
    } catch (const Error& error) {  // the file is gone, or may not be read
        return Failure{SourceRefusal{"unreadable", error.what()}};
    }
}

}  // namespace dedloc::pictures
