// Shards of pictures with their labels, for the evaluation of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "boinc_app/swav/labelled_pictures.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::evaluate {

/// Folders of a run's pictures; the folder of a corpus may be both. Files of labels, "labels-…",
/// are beside their shards, or absent.
struct PictureFolders {
    std::filesystem::path held_out;  ///< held-out shards
    std::filesystem::path shards;    ///< shards to train on; empty: they are not used
};

/// Maps and checks all held-out shards of the run, in the order of the run file, and adds the
/// labels that there are.
///
/// Errors   InputError with one sentence: the run has none, one is missing, cut off, altered or
///          unusable, or labels are; IoError
std::vector<swav::LabelledShard> open_held_out_pictures(const PictureFolders& folders,
                                                        const formats::RunFile& run);

/// The same for shards to train on: the first ones, until they have `count` pictures together.
/// Nothing without a folder.
/// Cost     reads these shards once, for their digests
std::vector<swav::LabelledShard> open_training_pictures(const PictureFolders& folders,
                                                        const formats::RunFile& run,
                                                        std::uint64_t count);

}  // namespace dedloc::evaluate
