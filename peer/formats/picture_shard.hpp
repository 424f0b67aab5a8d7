// A shard of pictures: JPEG files, one after the other. It is used in place, in a mapped file or a
// buffer. Labels are in a file of their own (picture_labels.hpp), which no trainer gets.
//
// File      8-byte head {magic u32, pictures u32}, then for each picture its end u32, counted from
//           the first picture's first byte, then the pictures; all little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/result.hpp"

namespace dedloc::formats {

/// Most bytes of one picture of a shard.
inline constexpr std::size_t kMaxPictureBytes = std::size_t{16} << 20;
/// Most bytes of all pictures of a shard, whose positions have 32 bits.
inline constexpr std::size_t kMaxPictureShardBytes = std::size_t{1} << 31;

/// The contents of a shard of pictures. The lists are parts of `file`; a copy costs nothing.
struct PictureShard {
    std::span<const std::uint32_t> ends;  ///< index into bytes, one past a picture's last byte
    std::span<const std::byte> bytes;     ///< all pictures
    std::span<const std::byte> file;      ///< the whole file
    std::shared_ptr<const void> owner;    ///< keeps `file` alive
    /// How many times as often as a picture of a shard with weight 1 one of its pictures is drawn.
    std::uint64_t weight = 1;
    std::uint32_t source = 0;  ///< ShardReference::source

    /// Number of pictures, at least 1.
    std::size_t picture_count() const { return ends.size(); }
    /// The bytes of a picture, 1 to kMaxPictureBytes; whether they are a JPEG is for its decoder to
    /// say. Requires index < picture_count().
    std::span<const std::byte> picture(std::size_t index) const {
        const std::size_t begin = index == 0 ? 0 : ends[index - 1];
        return bytes.subspan(begin, ends[index] - begin);
    }
};

/// Builds a shard picture by picture, for the corpus builder.
class PictureShardBuilder {
  public:
    /// Adds a picture. Requires 1 … kMaxPictureBytes bytes, and at most kMaxPictureShardBytes
    /// together (DEDLOC_CHECK).
    void add(std::span<const std::byte> picture);
    /// Pictures added so far.
    std::size_t picture_count() const { return ends_.size(); }
    /// Their bytes.
    std::size_t byte_count() const { return bytes_.size(); }
    /// Returns the shard. Requires a picture (DEDLOC_CHECK). Memory: a second copy of the pictures.
    PictureShard finish() &&;

  private:
    std::vector<std::uint32_t> ends_;
    Buffer bytes_;
};

/// Why a shard of pictures is refused.
enum class PictureShardError : std::uint8_t {
    kTooShort,         ///< the bytes end within the head, the ends or a picture
    kNotAShard,        ///< wrong magic number or version
    kTrailingBytes,    ///< bytes follow the last picture
    kNoPicture,        ///< the head says that there is none
    kBadEnds,          ///< the ends do not ascend from above 0
    kPictureTooLarge,  ///< a picture has more than kMaxPictureBytes
};
/// A clause for error messages.
const char* describe(PictureShardError error);

/// The shard in a file, read in place. Untrusted input: reads head and ends once and no picture,
/// allocates nothing. Requires `bytes` aligned to 4 (DEDLOC_CHECK) and alive as long as `owner`.
Result<PictureShard, PictureShardError> decode_picture_shard(std::span<const std::byte> bytes,
                                                             std::shared_ptr<const void> owner);
/// The same for a buffer that the shard takes over.
Result<PictureShard, PictureShardError> decode_picture_shard(Buffer bytes);

}  // namespace dedloc::formats
