#include "project_server/pictures/metadata.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "boinc_app/pictures/jpeg_segments.hpp"

namespace dedloc::pictures {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kJfifBytes = 14;
constexpr std::size_t kAdobeBytes = 12;
constexpr std::uint8_t kNumberOfLines = 0xDC;  // DNL, which libjpeg skips
constexpr std::uint8_t kExtended = 0xC1;       // SOF0 and SOF1 are sequential, with Huffman codes
constexpr std::uint8_t kHuffmanTables = 0xC4;
constexpr std::uint8_t kLastFrame = 0xCF;

void put_marker(ByteWriter& out, std::uint8_t marker) {
    out.write(std::uint8_t{0xFF});
    out.write(marker);
}

void put_segment(ByteWriter& out, std::uint8_t marker, std::span<const std::byte> payload) {
    const std::size_t length = payload.size() + 2;
    put_marker(out, marker);
    out.write(static_cast<std::uint8_t>(length >> 8));
    out.write(static_cast<std::uint8_t>(length & 0xFF));
    out.append(payload);
}

/// An EXIF segment with one entry: tag 0x0112, one 16-bit number, big-endian.
void put_orientation(ByteWriter& out, unsigned orientation) {
    Buffer payload;
    const auto exif = "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0_\0\0\0\0\0\0"sv;
    std::ranges::copy(bytes_of(exif), std::back_inserter(payload));
    *std::ranges::find(payload, std::byte{'_'}) = static_cast<std::byte>(orientation);
    put_segment(out, kApplication1, payload);
}

bool begins_with(std::span<const std::byte> payload, std::string_view name, std::size_t min) {
    return payload.size() >= min && std::ranges::equal(payload.first(name.size()), bytes_of(name));
}

/// JFIF's segment without its thumbnail.
std::optional<Buffer> jfif_of(const JpegSegment& segment) {
    if (segment.marker != kApplication0 || !begins_with(segment.payload, "JFIF\0"sv, kJfifBytes)) {
        return {};
    }
    Buffer head(segment.payload.begin(), segment.payload.begin() + kJfifBytes);
    head[kJfifBytes - 2] = head[kJfifBytes - 1] = std::byte{0};
    return head;
}

bool is_metadata(std::uint8_t marker) {
    return (marker >= kApplication0 && marker <= kApplication15) || marker == kComment ||
           marker == kNumberOfLines;
}

}  // namespace

Result<Buffer, PictureFault> without_metadata(std::span<const std::byte> jpeg) {
    JpegSegments segments{jpeg};
    if (!segments.is_jpeg()) {
        return Failure{PictureFault{Fault::kNotAPicture, "it is not a JPEG"}};
    }
    std::optional<Buffer> jfif;
    ByteWriter rest;
    bool needs_end = false;  // or a cut could not be seen by the decoder
    while (const auto segment = segments.next()) {
        if (!jfif) jfif = jfif_of(*segment);
        if (segment->marker == kApplication14 &&
            begins_with(segment->payload, "Adobe"sv, kAdobeBytes)) {
            put_segment(rest, kApplication14, segment->payload.first(kAdobeBytes));
        }
        if (is_metadata(segment->marker)) continue;
        needs_end |= segment->marker > kExtended && segment->marker <= kLastFrame &&
                     segment->marker != kHuffmanTables;
        put_segment(rest, segment->marker, segment->payload);
        rest.append(segment->coded);
    }
    if (segments.is_cut() || (needs_end && !segments.has_end())) {
        return Failure{PictureFault{Fault::kTruncated, "it ends within a segment or a scan"}};
    }
    ByteWriter out;
    put_marker(out, kStartOfImage);
    if (jfif) put_segment(out, kApplication0, *jfif);
    if (const auto turn = exif_orientation(jpeg); turn != 1) put_orientation(out, turn);
    out.append(std::move(rest).finish());
    put_marker(out, kEndOfImage);
    return std::move(out).finish();
}

}  // namespace dedloc::pictures
