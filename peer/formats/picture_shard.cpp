// The list of ends is taken only if the remaining bytes suffice for it, so a false count in the
// head reads nothing beyond the file. Ends must ascend by 1 to kMaxPictureBytes each, and the last
// one must be the number of bytes behind the list. The last end alone says how long the file is, so
// there is one file for each list of pictures. A built shard goes through the same checks.
#include "peer/formats/picture_shard.hpp"

#include <optional>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint32_t kPictureShardMagic = 0x31504C44;  // "DLP1"

std::optional<PictureShardError> fault_of_ends(std::span<const std::uint32_t> ends) {
    std::uint32_t previous = 0;
    for (const std::uint32_t end : ends) {
        if (end <= previous) return PictureShardError::kBadEnds;
        if (end - previous > kMaxPictureBytes) return PictureShardError::kPictureTooLarge;
        previous = end;
    }
    return {};
}

}  // namespace

const char* describe(PictureShardError error) {
    switch (error) {
        case PictureShardError::kTooShort:
            return "it is shorter than its head or its ends say";
        case PictureShardError::kNotAShard:
            return "it is not a shard of pictures of this version";
        case PictureShardError::kTrailingBytes:
            return "it is longer than its ends say";
        case PictureShardError::kNoPicture:
            return "it has no picture";
        case PictureShardError::kBadEnds:
            return "the ends of its pictures do not ascend";
        case PictureShardError::kPictureTooLarge:
            return "a picture is larger than 16 MiB";
    }
    return "unknown";
}

void PictureShardBuilder::add(std::span<const std::byte> picture) {
    DEDLOC_CHECK(!picture.empty() && picture.size() <= kMaxPictureBytes,
                 "a picture has 1 byte to 16 MiB", picture.size());
    DEDLOC_CHECK(bytes_.size() + picture.size() <= kMaxPictureShardBytes,
                 "a shard's positions have 32 bits");
    bytes_.insert(bytes_.end(), picture.begin(), picture.end());
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
}

PictureShard PictureShardBuilder::finish() && {
    ByteWriter out;
    out.write(kPictureShardMagic);
    out.write(static_cast<std::uint32_t>(ends_.size()));
    out.append(std::as_bytes(std::span{ends_}));
    out.append(bytes_);
    bytes_ = {};
    auto shard = decode_picture_shard(std::move(out).finish());
    DEDLOC_CHECK(bool{shard}, "only a sound shard is written", describe(shard.reason()));
    return std::move(shard).value();
}

Result<PictureShard, PictureShardError> decode_picture_shard(std::span<const std::byte> bytes,
                                                             std::shared_ptr<const void> owner) {
    DEDLOC_CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint32_t) == 0,
                 "a shard is read in place");
    ByteReader in{bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto count = in.read<std::uint32_t>();
    if (magic && *magic != kPictureShardMagic) return Failure{PictureShardError::kNotAShard};
    if (!count) return Failure{PictureShardError::kTooShort};
    if (*count == 0) return Failure{PictureShardError::kNoPicture};
    const auto list = in.take(std::size_t{*count} * sizeof(std::uint32_t));
    if (!list) return Failure{PictureShardError::kTooShort};
    // The head has 8 bytes, so the list is aligned.
    const std::span ends{reinterpret_cast<const std::uint32_t*>(list->data()), std::size_t{*count}};
    if (const auto fault = fault_of_ends(ends)) return Failure{*fault};
    const auto pictures = in.take(ends.back());
    if (!pictures) return Failure{PictureShardError::kTooShort};
    if (in.remaining() != 0) return Failure{PictureShardError::kTrailingBytes};
    return PictureShard{.ends = ends, .bytes = *pictures, .file = bytes, .owner = std::move(owner)};
}

Result<PictureShard, PictureShardError> decode_picture_shard(Buffer bytes) {
    const auto owner = std::make_shared<const Buffer>(std::move(bytes));
    return decode_picture_shard(*owner, owner);
}

}  // namespace dedloc::formats
