// A marker is 0xFF and a byte that is neither 0 (a stuffed byte of coded data) nor 0xFF (fill).
// next() skips to it, as libjpeg's next_marker() does. A scan's coded data end at the first marker
// that is no restart marker. EXIF is a small TIFF file: byte order, then the position of a list of
// 12-byte entries, of which one may be the orientation. Every position in it is checked.
#include "boinc_app/pictures/jpeg_segments.hpp"

#include <algorithm>
#include <array>

namespace dedloc::pictures {
namespace {

constexpr std::size_t kEntryBytes = 12;
constexpr unsigned kOrientationTag = 0x0112;
constexpr unsigned kShortType = 3;

std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t at) {
    return std::to_integer<std::uint8_t>(bytes[at]);
}

bool is_parameterless(std::uint8_t marker) {
    return marker == 0x01 || (marker >= 0xD0 && marker <= kStartOfImage);
}

/// Position of the 0xFF of the first marker that ends coded data, or the number of bytes.
std::size_t end_of_coded(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at + 1 < bytes.size(); ++at) {
        if (byte_at(bytes, at) != 0xFF) continue;
        const auto marker = byte_at(bytes, at + 1);
        const bool is_restart = marker >= 0xD0 && marker <= 0xD7;
        if (marker != 0 && marker != 0xFF && !is_restart) return at;
    }
    return bytes.size();
}

/// Numbers of a TIFF file in its own byte order.
class Tiff {
  public:
    explicit Tiff(std::span<const std::byte> bytes) : bytes_(bytes) {}
    bool begins() {
        const auto order = number(0, 2);
        if (order != 0x4949 && order != 0x4D4D) return false;
        is_little_ = order == 0x4949;
        return number(2, 2) == 42;
    }
    /// `count` bytes at a position; nothing past the end.
    std::optional<unsigned> number(std::size_t at, std::size_t count) const {
        if (at > bytes_.size() || count > bytes_.size() - at) return {};
        unsigned value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            value = value << 8 | byte_at(bytes_, at + (is_little_ ? count - 1 - i : i));
        }
        return value;
    }

  private:
    std::span<const std::byte> bytes_;
    bool is_little_ = false;
};

unsigned orientation_in(std::span<const std::byte> tiff_bytes) {
    Tiff tiff{tiff_bytes};
    if (!tiff.begins()) return 1;
    const auto list = tiff.number(4, 4);
    if (!list) return 1;
    const auto count = tiff.number(*list, 2).value_or(0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t entry = *list + 2 + i * kEntryBytes;
        const auto tag = tiff.number(entry, 2);
        if (!tag) return 1;
        if (*tag != kOrientationTag) continue;
        if (tiff.number(entry + 2, 2) != kShortType || tiff.number(entry + 4, 4) != 1u) return 1;
        const auto value = tiff.number(entry + 8, 2).value_or(1);
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

}  // namespace

JpegSegments::JpegSegments(std::span<const std::byte> jpeg) : rest_(jpeg) {
    is_jpeg_ = jpeg.size() >= 2 && byte_at(jpeg, 0) == 0xFF && byte_at(jpeg, 1) == kStartOfImage;
    rest_ = is_jpeg_ ? jpeg.subspan(2) : std::span<const std::byte>{};
}

std::optional<JpegSegment> JpegSegments::next() {
    while (rest_.size() >= 2) {
        const auto marker = byte_at(rest_, 1);
        if (byte_at(rest_, 0) != 0xFF || marker == 0xFF) {
            rest_ = rest_.subspan(1);
            continue;
        }
        rest_ = rest_.subspan(2);
        if (marker == 0 || is_parameterless(marker)) continue;
        has_end_ = marker == kEndOfImage;
        if (has_end_) break;
        is_cut_ = true;
        if (rest_.size() < 2) break;
        const std::size_t length = byte_at(rest_, 0) * std::size_t{256} + byte_at(rest_, 1);
        if (length < 2 || length > rest_.size()) break;
        is_cut_ = false;
        JpegSegment segment{.marker = marker, .payload = rest_.subspan(2, length - 2), .coded = {}};
        rest_ = rest_.subspan(length);
        if (marker == kStartOfScan) {
            segment.coded = rest_.first(end_of_coded(rest_));
            rest_ = rest_.subspan(segment.coded.size());
        }
        return segment;
    }
    rest_ = {};
    return {};
}

unsigned exif_orientation(std::span<const std::byte> jpeg) {
    constexpr std::array<std::uint8_t, 6> kName{'E', 'x', 'i', 'f', 0, 0};
    JpegSegments segments{jpeg};
    while (const auto segment = segments.next()) {
        if (segment->marker == kStartOfScan) break;
        if (segment->marker != kApplication1 || segment->payload.size() < kName.size()) continue;
        const auto name = segment->payload.first(kName.size());
        if (!std::ranges::equal(name, std::as_bytes(std::span{kName}))) continue;
        return orientation_in(segment->payload.subspan(kName.size()));
    }
    return 1;
}

}  // namespace dedloc::pictures
