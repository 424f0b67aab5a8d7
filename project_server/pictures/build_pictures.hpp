// Builds a corpus of pictures from a folder of any size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "project_server/corpus/corpus.hpp"

namespace dedloc::pictures {

/// Arguments of build_pictures().
struct PictureBuildOptions {
    std::filesystem::path images;  ///< folder of pictures, with a sub-folder for each class or none
    std::filesystem::path folder;  ///< output: must not exist yet, or be empty
    double held_out = 0.01;        ///< share of the pictures that is held out, by their digests
    std::uint64_t seed = 0;        ///< chooses them, and the order of the pictures
    /// A shard ends with the picture that reaches so many bytes.
    std::uint64_t shard_bytes = std::uint64_t{32} << 20;
    std::uint64_t max_pixels = kMaxPixels;  ///< a file that claims more is refused
};

/// How far a build has come.
struct PictureBuildProgress {
    std::uint64_t done = 0;      ///< bytes of the files that were looked at
    std::uint64_t total = 0;     ///< bytes of all files
    std::uint64_t pictures = 0;  ///< taken
    std::uint64_t refused = 0;   ///< files refused, without duplicates
};
/// Is called often while a build runs, on its thread.
using PictureProgressSink = std::function<void(const PictureBuildProgress&)>;

/// Builds a corpus of pictures: shards of JPEGs without metadata, for each shard of a folder with
/// classes a file of labels, corpus.json, and refused.txt with a sentence for each file that was
/// refused, up to 10,000. Of files with the same picture the first in the order is taken. Equal
/// folders and options give equal bytes.
///
/// The folder appears only when it is complete. A build that is killed, or that fails with an
/// IoError (disk full), leaves what it has written under a hidden name; the same call goes on from
/// the last shard. A call with other arguments, or for files that have changed, starts again.
///
/// Errors  InputError (no folder, no picture to train on, names that no class may have, too many
///         shards), after which nothing is left; IoError
/// Memory  two shards, one more while one is written, a picture, and about 200 bytes a file
corpus::Corpus build_pictures(const PictureBuildOptions& options,
                              const PictureProgressSink& progress = {});

/// The refusals in one clause: "12 files refused (8 truncated, 4 not a picture)"; empty if none.
std::string refusals_of(const corpus::PictureFacts& facts);

}  // namespace dedloc::pictures
