// The folder is listed first, so that its errors leave nothing behind. The files are read once, in
// the random order of the list. A picture's digest says whether it is a duplicate and whether it is
// held out, so neither depends on where a build was stopped. A build that goes on reads the shards
// that it has for the digests of their pictures. corpus.json is written last, and then the folder
// gets its name.
#include "project_server/pictures/build_pictures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/picture_shard.hpp"
#include "peer/platform/mapped_file.hpp"
#include "project_server/corpus/build_folder.hpp"
#include "project_server/pictures/picture_list.hpp"
#include "project_server/pictures/picture_source.hpp"
#include "project_server/pictures/picture_writer.hpp"

namespace dedloc::pictures {
namespace {

namespace fs = std::filesystem;

/// The first 8 bytes of a picture's digest; two of 10⁷ pictures share them with probability 3·10⁻⁶.
std::uint64_t brief_digest(std::span<const std::byte> jpeg) {
    const Digest digest = blake2b(jpeg);
    std::uint64_t brief = 0;
    std::memcpy(&brief, digest.bytes.data(), sizeof brief);
    return brief;
}

/// Identifies a build: whatever its result depends on.
Digest digest_of(const PictureBuildOptions& options, const PictureList& list) {
    return blake2b(
        bytes_of(fmt::format("pictures 1\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", options.held_out,
                             options.seed, options.shard_bytes, options.max_pixels, list.size(),
                             list.fingerprint(), fs::absolute(options.images).string())));
}

/// Adds the digests of the pictures in all shards of a stopped build.
void read_digests(const fs::path& folder, const corpus::Corpus& corpus,
                  std::unordered_set<std::uint64_t>& seen) {
    for (const auto& reference : corpus.shards) {
        const fs::path path = folder / reference.name;
        const auto file = std::make_shared<const platform::MappedFile>(path);
        const auto shard = formats::decode_picture_shard(file->bytes(), file);
        if (!shard) {
            throw IoError(fmt::format("{} is damaged: {}; remove {} to start again", path.string(),
                                      formats::describe(shard.reason()), folder.string()));
        }
        for (std::size_t i = 0; i < shard->picture_count(); ++i) {
            seen.insert(brief_digest(shard->picture(i)));
        }
    }
}

void check(const PictureBuildOptions& options, const PictureList& list,
           const corpus::PictureFacts& facts) {
    if (facts.pictures > facts.held_out) return;
    if (facts.pictures > 0) {
        throw InputError(fmt::format("all {} pictures are held out, and none is left to train on",
                                     facts.pictures));
    }
    const std::string refusals = refusals_of(facts);
    throw InputError(fmt::format("{} has no picture: {}", shown_name(options.images.string()),
                                 list.size() == 0 ? "it has no file" : refusals));
}

/// Adds all files to the writer, from where it goes on.
void add_files(const PictureBuildOptions& options, const PictureList& list, PictureWriter& writer,
               std::unordered_set<std::uint64_t>& seen, const PictureProgressSink& sink) {
    const auto& from = writer.journal().pictures;
    const std::uint64_t begin = std::min(from.trained_from, from.held_from);
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < list.size(); ++i) {
        const fs::path path = list.path(i);
        std::error_code gone;
        const auto size = sink ? fs::file_size(path, gone) : 0;
        done += gone ? 0 : size;
        if (i < begin) continue;
        const auto source = read_source(path, options.max_pixels);
        if (!source) {
            writer.add_refusal(i, source.reason().reason,
                               fmt::format("{}\t{}", shown_name(list.name(i)),
                                           shown_name(source.reason().sentence)));
        } else {
            const auto digest = brief_digest(source->jpeg);
            const bool is_held_out =
                Random{options.seed}.split(digest).uniform() < options.held_out;
            if (seen.insert(digest).second) {
                writer.add(i, *source, list.label(i), is_held_out);
            } else {
                writer.add_duplicate(i);
            }
        }
        if (!sink) continue;
        sink({.done = done,
              .total = list.byte_count(),
              .pictures = writer.picture_count(),
              .refused = writer.refused_count()});
    }
}

corpus::Corpus build(const PictureBuildOptions& options, const PictureList& list,
                     const fs::path& folder, corpus::Journal journal,
                     const PictureProgressSink& sink) {
    if (!journal.corpus.pictures) journal.corpus.pictures.emplace();
    journal.corpus.pictures->classes = list.classes();
    std::unordered_set<std::uint64_t> seen;
    read_digests(folder, journal.corpus, seen);
    PictureWriter writer{folder, std::move(journal), options.shard_bytes};
    add_files(options, list, writer, seen, sink);
    writer.finish();
    check(options, list, *writer.journal().corpus.pictures);
    corpus::write_corpus(folder, writer.journal().corpus);
    return writer.journal().corpus;
}

}  // namespace

corpus::Corpus build_pictures(const PictureBuildOptions& options,
                              const PictureProgressSink& progress) {
    const PictureList list{options.images, options.seed};
    corpus::BuildFolder folder{options.folder};
    return folder.fill(digest_of(options, list),
                       [&](const fs::path& path, corpus::Journal journal) {
                           return build(options, list, path, std::move(journal), progress);
                       });
}

std::string refusals_of(const corpus::PictureFacts& facts) {
    std::uint64_t files = 0;
    std::vector<std::string> parts;
    for (const auto& refusal : facts.refused) {
        files += refusal.count;
        parts.push_back(fmt::format("{} {}", refusal.count, refusal.reason));
    }
    if (files == 0) return {};
    return fmt::format("{} file{} refused ({})", files, files == 1 ? "" : "s",
                       fmt::join(parts, ", "));
}

}  // namespace dedloc::pictures
