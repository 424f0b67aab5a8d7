// The classes of a shard's pictures. The project keeps them to measure features with; no trainer
// gets them.
//
// File      48-byte head {magic u32, classes u32, pictures u32, bytes of all names u32, digest of
//           the shard 32 bytes}, then for each class the end of its name u32, for each picture its
//           class u16, and the names; all little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/result.hpp"

namespace dedloc::formats {

/// Most classes; their numbers have 16 bits, of which one value means none.
inline constexpr std::size_t kMaxClasses = 65'535;
/// The label of a picture without a class.
inline constexpr std::uint16_t kNoClass = 0xFFFF;
/// Most bytes of the name of a class.
inline constexpr std::size_t kMaxClassNameBytes = 255;

/// Whether a class may have this name: 1 to kMaxClassNameBytes of UTF-8 without control characters.
bool is_class_name(std::string_view name);

/// The contents of a file of labels.
struct PictureLabels {
    Digest shard;                       ///< the file whose pictures are meant
    std::vector<std::string> classes;   ///< names, ascending by their bytes; at least one
    std::vector<std::uint16_t> labels;  ///< a picture's index into classes, or kNoClass
    bool operator==(const PictureLabels&) const = default;
};

/// Why a file of labels is refused.
enum class PictureLabelsError : std::uint8_t {
    kTooShort,       ///< the bytes end within the head or a list
    kNotLabels,      ///< wrong magic number or version
    kTrailingBytes,  ///< more bytes than the head says
    kBadCounts,      ///< no picture, or not 1 … kMaxClasses classes
    kBadNames,       ///< a name is_class_name() refuses, or names that do not ascend
    kBadLabel,       ///< a label is neither a class nor kNoClass
};
/// A clause for error messages.
const char* describe(PictureLabelsError error);

/// Writes a file of labels. Requires what decode_picture_labels() checks (DEDLOC_CHECK).
Buffer encode_picture_labels(const PictureLabels& labels);
/// Reads one. Untrusted input: allocates no more than a small multiple of its bytes. The caller
/// compares `shard` and the number of labels with the shard.
Result<PictureLabels, PictureLabelsError> decode_picture_labels(std::span<const std::byte> bytes);

}  // namespace dedloc::formats
