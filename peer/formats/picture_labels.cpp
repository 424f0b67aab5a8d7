// Counts in the head are compared with the remaining bytes before anything is allocated: the three
// lists must fill the rest of the file exactly. Names ascend strictly, so no class occurs twice and
// the same labels have one file. A written file goes through the same checks.
#include "peer/formats/picture_labels.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/utf8.hpp"

namespace dedloc::formats {
namespace {

constexpr std::uint32_t kPictureLabelsMagic = 0x314C4C44;  // "DLL1"

/// The names whose ends and bytes a file has; nothing if they are not those of classes.
std::optional<std::vector<std::string>> read_names(std::span<const std::byte> ends,
                                                   std::span<const std::byte> bytes) {
    std::vector<std::string> names;
    ByteReader in{ends};
    std::uint32_t begin = 0;
    while (const auto end = in.read<std::uint32_t>()) {
        if (*end < begin || *end > bytes.size()) return {};
        const auto part = bytes.subspan(begin, *end - begin);
        std::string name(reinterpret_cast<const char*>(part.data()), part.size());
        if (!is_class_name(name) || (!names.empty() && name <= names.back())) return {};
        names.push_back(std::move(name));
        begin = *end;
    }
    if (begin != bytes.size()) return {};
    return names;
}

}  // namespace

bool is_class_name(std::string_view name) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
    return !name.empty() && name.size() <= kMaxClassNameBytes && is_utf8(name) &&
           std::ranges::none_of(name, is_control);
}

const char* describe(PictureLabelsError error) {
    switch (error) {
        case PictureLabelsError::kTooShort:
            return "it is shorter than its head says";
        case PictureLabelsError::kNotLabels:
            return "it is not a file of labels of this version";
        case PictureLabelsError::kTrailingBytes:
            return "it is longer than its head says";
        case PictureLabelsError::kBadCounts:
            return "its counts are out of range";
        case PictureLabelsError::kBadNames:
            return "its names of classes are damaged or do not ascend";
        case PictureLabelsError::kBadLabel:
            return "a label is not one of its classes";
    }
    return "unknown";
}

Buffer encode_picture_labels(const PictureLabels& labels) {
    std::string names;
    std::vector<std::uint32_t> ends;
    for (const std::string& name : labels.classes) {
        names += name;
        ends.push_back(static_cast<std::uint32_t>(names.size()));
    }
    ByteWriter out;
    out.write(kPictureLabelsMagic);
    out.write(static_cast<std::uint32_t>(labels.classes.size()));
    out.write(static_cast<std::uint32_t>(labels.labels.size()));
    out.write(static_cast<std::uint32_t>(names.size()));
    out.append(labels.shard.bytes);
    out.append(std::as_bytes(std::span{ends}));
    out.append(std::as_bytes(std::span{labels.labels}));
    out.append(bytes_of(names));
    Buffer file = std::move(out).finish();
    const auto again = decode_picture_labels(file);
    DEDLOC_CHECK(again && *again == labels, "only sound labels are written");
    return file;
}

Result<PictureLabels, PictureLabelsError> decode_picture_labels(std::span<const std::byte> bytes) {
    ByteReader in{bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto classes = in.read<std::uint32_t>();
    const auto pictures = in.read<std::uint32_t>();
    const auto name_bytes = in.read<std::uint32_t>();
    PictureLabels labels;
    const auto digest = in.take(labels.shard.bytes.size());
    if (magic && *magic != kPictureLabelsMagic) return Failure{PictureLabelsError::kNotLabels};
    if (!digest) return Failure{PictureLabelsError::kTooShort};
    std::ranges::copy(*digest, labels.shard.bytes.begin());
    if (*pictures == 0 || *classes == 0 || *classes > kMaxClasses) {
        return Failure{PictureLabelsError::kBadCounts};
    }
    const auto ends = in.take(std::size_t{*classes} * sizeof(std::uint32_t));
    const auto numbers = in.take(std::size_t{*pictures} * sizeof(std::uint16_t));
    const auto names = in.take(*name_bytes);
    if (!names) return Failure{PictureLabelsError::kTooShort};
    if (in.remaining() != 0) return Failure{PictureLabelsError::kTrailingBytes};
    auto found = read_names(*ends, *names);
    if (!found) return Failure{PictureLabelsError::kBadNames};
    labels.classes = std::move(*found);
    labels.labels.resize(*pictures);
    std::memcpy(labels.labels.data(), numbers->data(), numbers->size());
    const auto is_bad = [&](std::uint16_t label) { return label != kNoClass && label >= *classes; };
    if (std::ranges::any_of(labels.labels, is_bad)) return Failure{PictureLabelsError::kBadLabel};
    return labels;
}

}  // namespace dedloc::formats
