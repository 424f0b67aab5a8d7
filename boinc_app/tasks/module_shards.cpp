#include "boinc_app/tasks/module_shards.hpp"

#include "boinc_app/inputs/shard_files.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::tasks {
namespace {

using training::module::SampleShards;

/// What `open.operator()<Shard>()` returns for the kind of shard that the run has.
template <class Open>
SampleShards opened(const formats::RunFile& run, const Open& open) {
    switch (formats::shard_kind_of(run)) {
        case formats::ShardKind::kText:
            return open.template operator()<formats::Shard>();
        case formats::ShardKind::kPictures:
            return open.template operator()<formats::PictureShard>();
        case formats::ShardKind::kTensors:
            break;
    }
    return open.template operator()<formats::TensorShard>();
}

}  // namespace

SampleShards module_shards(std::span<const std::filesystem::path> paths,
                           const formats::RunFile& run) {
    return opened(run, [&]<class Shard>() { return inputs::open_shards<Shard>(paths, run); });
}

SampleShards held_out_module_shards(const std::filesystem::path& folder,
                                    const formats::RunFile& run) {
    return opened(run,
                  [&]<class Shard>() { return inputs::open_held_out_shards<Shard>(folder, run); });
}

}  // namespace dedloc::tasks
