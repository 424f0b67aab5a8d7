#include "boinc_app/inputs/shard_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "boinc_app/inputs/damaged_input.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/mapped_file.hpp"

namespace dedloc::inputs {
namespace {

const formats::ShardReference& reference_of(std::span<const std::byte> bytes,
                                            const std::filesystem::path& path,
                                            const formats::RunFile& run) {
    const auto refuse = [&](const char* why) {
        throw DamagedInput{
            fmt::format("{} is not a shard of run {}: {}", path.string(), run.name, why), path};
    };
    if (std::ranges::find(run.shards, bytes.size(), &formats::ShardReference::bytes) ==
        run.shards.end()) {
        refuse("none has its size, so it is cut off or another file");
    }
    const auto found =
        std::ranges::find(run.shards, blake2b(bytes), &formats::ShardReference::digest);
    if (found == run.shards.end()) refuse("none has its digest");
    if (found->is_held_out) refuse("it is held out, to measure the model with");
    return *found;
}

/// Decodes a file that has the digest of this shard.
formats::Shard decode(const std::shared_ptr<const platform::MappedFile>& file,
                      const std::filesystem::path& path, const formats::RunFile& run,
                      const formats::ShardReference& reference) {
    auto decoded = formats::decode_shard(file->bytes(), file);
    if (!decoded) {
        throw InputError{fmt::format("shard {} cannot be used: {}", path.string(),
                                     formats::describe(decoded.reason()))};
    }
    auto shard = std::move(decoded).value();
    if (shard.vocabulary != formats::vocabulary_of(run)) {
        throw InputError{fmt::format("shard {} has a vocabulary of {}; the run's is {}",
                                     path.string(), shard.vocabulary, formats::vocabulary_of(run))};
    }
    shard.weight = reference.weight;
    file->forget_pages();
    return shard;
}

}  // namespace

formats::Shard open_shard(const std::filesystem::path& path, const formats::RunFile& run) {
    const auto file = std::make_shared<const platform::MappedFile>(path);
    return decode(file, path, run, reference_of(file->bytes(), path, run));
}

std::vector<formats::TensorShard> open_tensor_shards(std::span<const std::filesystem::path> paths,
                                                     const formats::RunFile& run) {
    std::vector<formats::TensorShard> shards;
    for (const auto& path : paths) {
        const auto file = std::make_shared<const platform::MappedFile>(path);
        const auto& reference = reference_of(file->bytes(), path, run);
        auto decoded = formats::decode_tensor_shard(file->bytes(), file);
        if (!decoded) {
            throw InputError{fmt::format("shard {} cannot be used: {}", path.string(),
                                         formats::describe(decoded.reason()))};
        }
        shards.push_back(std::move(decoded).value());
        shards.back().weight = reference.weight;
        file->forget_pages();
    }
    if (shards.empty()) throw InputError{"there is no shard to train on"};
    return shards;
}

std::vector<formats::Shard> open_held_out_shards(const std::filesystem::path& folder,
                                                 const formats::RunFile& run) {
    std::vector<formats::Shard> shards;
    for (const auto& reference : formats::held_out_shards(run)) {
        const auto path = folder / reference.name;
        const auto file = std::make_shared<const platform::MappedFile>(path);
        const bool is_whole = file->bytes().size() == reference.bytes;
        if (!is_whole || blake2b(file->bytes()) != reference.digest) {
            throw InputError{fmt::format("{} is not the held-out shard of run {}: it is {}",
                                         path.string(), run.name,
                                         is_whole ? "altered" : "cut off or another file")};
        }
        shards.push_back(decode(file, path, run, reference));
    }
    if (shards.empty()) {
        throw InputError{
            fmt::format("run {} has no held-out shard: dedloc corpus build --held-out "
                        "makes them",
                        run.name)};
    }
    return shards;
}

std::vector<formats::Shard> open_shards(std::span<const std::filesystem::path> paths,
                                        const formats::RunFile& run) {
    std::vector<formats::Shard> shards;
    for (const auto& path : paths) shards.push_back(open_shard(path, run));
    if (shards.empty()) throw InputError{"there is no shard to train on"};
    return shards;
}

}  // namespace dedloc::inputs
