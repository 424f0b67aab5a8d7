// Pictures whose classes the project knows: which of them measure a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boinc_app/pictures/picture.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"

namespace dedloc::swav {

/// A shard of pictures, with their classes if they are known.
struct LabelledShard {
    std::string name;                              ///< its file's, for messages
    formats::PictureShard pictures;                ///< its contents
    std::optional<formats::PictureLabels> labels;  ///< absent: no file of labels
};

/// A picture of a list of shards.
struct PicturePlace {
    std::size_t shard = 0;  ///< index into the list
    std::size_t index = 0;  ///< the picture's in the shard
    bool operator==(const PicturePlace&) const = default;
};

/// Pictures with their classes.
struct LabelledChoice {
    std::vector<PicturePlace> places;   ///< the pictures, in the order of the shards
    std::vector<std::uint16_t> labels;  ///< the class of each
};

/// Names of the classes of the shards that have labels; empty if none has.
/// Errors: InputError that names the shard: labels of other classes than an earlier shard's, or not
/// as many as pictures.
std::vector<std::string> classes_of(std::span<const LabelledShard> shards);

/// The first pictures, as many as there are up to `count`, with and without classes.
std::vector<PicturePlace> first_pictures(std::span<const LabelledShard> shards,
                                         std::uint64_t count);

/// Pictures evenly from all classes: from the first on, each whose class has not had
/// ⌈count ÷ classes⌉ yet, until there are `count`. Fewer if classes have fewer pictures. Requires
/// the labels that classes_of() accepts.
LabelledChoice choose_evenly(std::span<const LabelledShard> shards, std::uint64_t count);

/// Decodes a picture at the smallest scale whose shorter side has `min_side` pixels.
/// Errors: InputError that names shard and picture. Memory: DecodeOptions has the bounds.
pictures::Picture decode(std::span<const LabelledShard> shards, const PicturePlace& place,
                         std::uint32_t min_side);

}  // namespace dedloc::swav
