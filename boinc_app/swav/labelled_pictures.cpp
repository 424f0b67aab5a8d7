#include "boinc_app/swav/labelled_pictures.hpp"

#include <fmt/format.h>

#include <utility>

#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "peer/base/error.hpp"

namespace dedloc::swav {

std::vector<std::string> classes_of(std::span<const LabelledShard> shards) {
    const LabelledShard* first = nullptr;
    for (const LabelledShard& shard : shards) {
        if (!shard.labels) continue;
        const std::size_t count = shard.labels->labels.size();
        if (count != shard.pictures.picture_count()) {
            throw InputError(fmt::format("the shard {} has {} pictures, but its labels are for {}",
                                         shard.name, shard.pictures.picture_count(), count));
        }
        if (first == nullptr) first = &shard;
        if (shard.labels->classes != first->labels->classes) {
            throw InputError(fmt::format("the labels of the shards {} and {} have other classes",
                                         first->name, shard.name));
        }
    }
    return first == nullptr ? std::vector<std::string>{} : first->labels->classes;
}

std::vector<PicturePlace> first_pictures(std::span<const LabelledShard> shards,
                                         std::uint64_t count) {
    std::vector<PicturePlace> places;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        for (std::size_t i = 0; i < shards[shard].pictures.picture_count(); ++i) {
            if (places.size() == count) return places;
            places.push_back({.shard = shard, .index = i});
        }
    }
    return places;
}

LabelledChoice choose_evenly(std::span<const LabelledShard> shards, std::uint64_t count) {
    const std::size_t classes = classes_of(shards).size();
    LabelledChoice choice;
    if (classes == 0) return choice;
    const std::uint64_t quota = (count + classes - 1) / classes;
    std::vector<std::uint64_t> taken(classes);
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        if (!shards[shard].labels) continue;
        const auto& labels = shards[shard].labels->labels;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (choice.places.size() == count) return choice;
            if (labels[i] == formats::kNoClass || taken[labels[i]] == quota) continue;
            ++taken[labels[i]];
            choice.places.push_back({.shard = shard, .index = i});
            choice.labels.push_back(labels[i]);
        }
    }
    return choice;
}

pictures::Picture decode(std::span<const LabelledShard> shards, const PicturePlace& place,
                         std::uint32_t min_side) {
    const LabelledShard& shard = shards[place.shard];
    auto decoded =
        pictures::decode_jpeg(shard.pictures.picture(place.index), {.min_side = min_side});
    if (decoded.has_value()) return std::move(decoded).value();
    throw InputError(fmt::format("picture {} of the shard {} cannot be decoded: {}", place.index,
                                 shard.name, decoded.reason().sentence));
}

}  // namespace dedloc::swav
