#include "boinc_app/tasks/module_shards.hpp"

#include "boinc_app/inputs/shard_files.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::tasks {

using formats::ShardKind;
using training::module::SampleShards;

SampleShards module_shards(std::span<const std::filesystem::path> paths,
                           const formats::RunFile& run) {
    switch (formats::shard_kind_of(run)) {
        case ShardKind::kText:
            return inputs::open_shards(paths, run);
        case ShardKind::kPictures:
            return inputs::open_shards<formats::PictureShard>(paths, run);
        case ShardKind::kTensors:
            break;
    }
    return inputs::open_shards<formats::TensorShard>(paths, run);
}

SampleShards held_out_module_shards(const std::filesystem::path& folder,
                                    const formats::RunFile& run) {
    switch (formats::shard_kind_of(run)) {
        case ShardKind::kText:
            return inputs::open_held_out_shards(folder, run);
        case ShardKind::kPictures:
            return inputs::open_held_out_shards<formats::PictureShard>(folder, run);
        case ShardKind::kTensors:
            break;
    }
    return inputs::open_held_out_shards<formats::TensorShard>(folder, run);
}

}  // namespace dedloc::tasks
