#include "project_server/evaluate/picture_files.hpp"

#include <fmt/format.h>

#include <utility>

#include "boinc_app/inputs/shard_files.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLabelsPrefix = "labels-";
/// Labels of the most pictures that a shard can have take 4 GiB; those of a usual one some KB.
constexpr std::size_t kMaxLabelsBytes = std::size_t{64} << 20;

/// The files of labels in a folder. Each names the shard that it is for.
std::vector<formats::PictureLabels> read_labels(const fs::path& folder) {
    std::vector<formats::PictureLabels> all;
    if (!fs::is_directory(folder)) return all;  // opening the shards will say so
    for (const auto& entry : fs::directory_iterator{folder}) {
        if (!entry.path().filename().string().starts_with(kLabelsPrefix)) continue;
        auto decoded =
            formats::decode_picture_labels(platform::read_file(entry.path(), kMaxLabelsBytes));
        if (!decoded) {
            throw InputError(fmt::format("the labels {} cannot be used: {}", entry.path().string(),
                                         formats::describe(decoded.reason())));
        }
        all.push_back(std::move(decoded).value());
    }
    return all;
}

swav::LabelledShard labelled(const formats::ShardReference& reference,
                             formats::PictureShard pictures,
                             const std::vector<formats::PictureLabels>& labels) {
    swav::LabelledShard shard{
        .name = reference.name, .pictures = std::move(pictures), .labels = {}};
    for (const formats::PictureLabels& candidate : labels) {
        if (candidate.shard == reference.digest) shard.labels = candidate;
    }
    return shard;
}

}  // namespace

std::vector<swav::LabelledShard> open_held_out_pictures(const PictureFolders& folders,
                                                        const formats::RunFile& run) {
    auto opened = inputs::open_held_out_shards<formats::PictureShard>(folders.held_out, run);
    const auto references = formats::held_out_shards(run);
    const auto labels = read_labels(folders.held_out);
    std::vector<swav::LabelledShard> shards;
    for (std::size_t i = 0; i < opened.size(); ++i) {
        shards.push_back(labelled(references[i], std::move(opened[i]), labels));
    }
    return shards;
}

std::vector<swav::LabelledShard> open_training_pictures(const PictureFolders& folders,
                                                        const formats::RunFile& run,
                                                        std::uint64_t count) {
    std::vector<swav::LabelledShard> shards;
    if (folders.shards.empty()) return shards;
    const auto labels = read_labels(folders.shards);
    std::uint64_t pictures = 0;
    for (const formats::ShardReference& reference : formats::training_shards(run)) {
        if (pictures >= count) break;
        const fs::path path = folders.shards / reference.name;
        auto opened = inputs::open_shards<formats::PictureShard>({&path, 1}, run);
        shards.push_back(labelled(reference, std::move(opened.front()), labels));
        pictures += shards.back().pictures.picture_count();
    }
    return shards;
}

}  // namespace dedloc::evaluate
