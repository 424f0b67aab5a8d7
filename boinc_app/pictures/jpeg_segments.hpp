// The marker segments of a JPEG, found as libjpeg finds them: bytes between segments are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dedloc::pictures {

// Second bytes of markers; the first is 0xFF.
inline constexpr std::uint8_t kStartOfImage = 0xD8;   ///< the first marker, without a segment
inline constexpr std::uint8_t kEndOfImage = 0xD9;     ///< the last marker, without a segment
inline constexpr std::uint8_t kStartOfScan = 0xDA;    ///< a scan: coded data follow the segment
inline constexpr std::uint8_t kApplication0 = 0xE0;   ///< APP0, JFIF
inline constexpr std::uint8_t kApplication1 = 0xE1;   ///< APP1, EXIF
inline constexpr std::uint8_t kApplication14 = 0xEE;  ///< APP14, Adobe: which colours are coded
inline constexpr std::uint8_t kApplication15 = 0xEF;  ///< APP15, the last of its kind
inline constexpr std::uint8_t kComment = 0xFE;        ///< COM

/// One segment.
struct JpegSegment {
    std::uint8_t marker = 0;             ///< which
    std::span<const std::byte> payload;  ///< without marker and length
    std::span<const std::byte> coded;    ///< a scan's data, up to the next marker
};

/// Reads the segments of a JPEG one by one. Untrusted input: never reads past its end, and reads
/// every byte at most once.
class JpegSegments {
  public:
    /// `jpeg` must stay alive.
    explicit JpegSegments(std::span<const std::byte> jpeg);
    /// Whether the bytes begin with the marker of a JPEG.
    bool is_jpeg() const { return is_jpeg_; }
    /// The next segment; nothing at the end of the image or of the bytes, also if a segment is cut.
    std::optional<JpegSegment> next();

    // After next() has returned nothing:
    bool is_cut() const { return is_cut_; }    ///< a segment had an impossible length, or was cut
    bool has_end() const { return has_end_; }  ///< the end marker was there

  private:
    std::span<const std::byte> rest_;
    bool is_jpeg_ = false;
    bool is_cut_ = false;
    bool has_end_ = false;
};

/// The orientation in the first EXIF segment before the first scan: 1 (upright) to 8, as EXIF 2.3
/// numbers them. 1 if there is none, or none that can be read.
unsigned exif_orientation(std::span<const std::byte> jpeg);

}  // namespace dedloc::pictures
