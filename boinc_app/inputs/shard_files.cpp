#include "boinc_app/inputs/shard_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "boinc_app/inputs/damaged_input.hpp"
#include "peer/base/error.hpp"
#include "peer/base/result.hpp"
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

using File = std::shared_ptr<const platform::MappedFile>;

/// A mapped file, and the shard whose digest it has.
struct Found {
    File file;
    std::filesystem::path path;
    const formats::ShardReference& reference;
};

Found find_shard(const std::filesystem::path& path, const formats::RunFile& run) {
    const auto file = std::make_shared<const platform::MappedFile>(path);
    return {.file = file, .path = path, .reference = reference_of(file->bytes(), path, run)};
}

/// What a decoder says of a shard; its weight and source are the run file's.
template <class Shard, class ShardError>
Shard accept(Result<Shard, ShardError> decoded, const Found& found) {
    if (!decoded) {
        throw InputError{fmt::format("shard {} cannot be used: {}", found.path.string(),
                                     formats::describe(decoded.reason()))};
    }
    Shard shard = std::move(decoded).value();
    shard.weight = found.reference.weight;
    shard.source = found.reference.source;
    found.file->forget_pages();
    return shard;
}

template <class Shard>
Shard decode(const Found& found, const formats::RunFile& run);

template <>
formats::Shard decode(const Found& found, const formats::RunFile& run) {
    auto shard = accept(formats::decode_shard(found.file->bytes(), found.file), found);
    const std::uint64_t vocabulary = formats::vocabulary_of(run);
    if (shard.vocabulary != vocabulary) {
        throw InputError{fmt::format("shard {} has a vocabulary of {}; the run's is {}",
                                     found.path.string(), shard.vocabulary, vocabulary)};
    }
    return shard;
}
template <>
formats::PictureShard decode(const Found& found, const formats::RunFile&) {
    return accept(formats::decode_picture_shard(found.file->bytes(), found.file), found);
}
template <>
formats::TensorShard decode(const Found& found, const formats::RunFile&) {
    return accept(formats::decode_tensor_shard(found.file->bytes(), found.file), found);
}

std::vector<Found> find_held_out(const std::filesystem::path& folder, const formats::RunFile& run) {
    std::vector<Found> all;
    for (const formats::ShardReference& reference : run.shards) {
        if (!reference.is_held_out) continue;
        const auto path = folder / reference.name;
        const auto file = std::make_shared<const platform::MappedFile>(path);
        const bool is_whole = file->bytes().size() == reference.bytes;
        if (!is_whole || blake2b(file->bytes()) != reference.digest) {
            throw InputError{fmt::format("{} is not the held-out shard of run {}: it is {}",
                                         path.string(), run.name,
                                         is_whole ? "altered" : "cut off or another file")};
        }
        all.push_back({.file = file, .path = path, .reference = reference});
    }
    if (all.empty()) {
        throw InputError{
            fmt::format("run {} has no held-out shard: dedloc corpus build --held-out "
                        "makes them",
                        run.name)};
    }
    return all;
}

}  // namespace

template <class Shard>
std::vector<Shard> open_shards(std::span<const std::filesystem::path> paths,
                               const formats::RunFile& run) {
    if (paths.empty()) throw InputError{"there is no shard to train on"};
    std::vector<Shard> shards;
    for (const auto& path : paths) shards.push_back(decode<Shard>(find_shard(path, run), run));
    return shards;
}

template <class Shard>
std::vector<Shard> open_held_out_shards(const std::filesystem::path& folder,
                                        const formats::RunFile& run) {
    std::vector<Shard> shards;
    for (const Found& found : find_held_out(folder, run)) {
        shards.push_back(decode<Shard>(found, run));
    }
    return shards;
}

using Paths = std::span<const std::filesystem::path>;
template std::vector<formats::Shard> open_shards(Paths, const formats::RunFile&);
template std::vector<formats::PictureShard> open_shards(Paths, const formats::RunFile&);
template std::vector<formats::TensorShard> open_shards(Paths, const formats::RunFile&);
template std::vector<formats::Shard> open_held_out_shards(const std::filesystem::path&,
                                                          const formats::RunFile&);
template std::vector<formats::PictureShard> open_held_out_shards(const std::filesystem::path&,
                                                                 const formats::RunFile&);
template std::vector<formats::TensorShard> open_held_out_shards(const std::filesystem::path&,
                                                                const formats::RunFile&);

}  // namespace dedloc::inputs
