// Writes shards of pictures with their labels, and the journal of their build.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/formats/picture_labels.hpp"
#include "peer/formats/picture_shard.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/pictures/picture_source.hpp"

namespace dedloc::pictures {

/// Collects the pictures of both parts, and writes a shard whenever those of one suffice.
class PictureWriter final {
  public:
    /// Goes on from where `journal` ends; its corpus holds pictures.
    PictureWriter(std::filesystem::path folder, corpus::Journal journal, std::uint64_t shard_bytes);

    /// Whether the file at this position has been counted before, by a build that was stopped.
    bool is_counted(std::uint64_t position) const;
    /// Adds the picture of the file at this position, which is in no shard yet. Errors: as
    /// finish().
    void add(std::uint64_t position, const SourcePicture& picture, std::uint16_t label,
             bool is_held_out);
    /// Counts the file at this position as a duplicate, unless it has been counted.
    void add_duplicate(std::uint64_t position);
    /// Counts and notes that the file at this position was refused, unless it has been counted.
    /// `line` is what refused.txt gets.
    void add_refusal(std::uint64_t position, const std::string& reason, std::string line);
    /// Writes what has been collected, and sorts the shards by name. Errors: InputError (too many
    /// shards), IoError.
    void finish();

    /// What has been written, and where that ends.
    const corpus::Journal& journal() const { return journal_; }
    /// Pictures written and collected.
    std::uint64_t picture_count() const;
    /// Files refused so far.
    std::uint64_t refused_count() const;

  private:
    /// Pictures that are in no shard yet.
    struct Part {
        formats::PictureShardBuilder builder;
        std::vector<std::uint16_t> labels;
        std::uint64_t smallest_side = 0;
    };
    corpus::PictureFacts& facts() { return *journal_.corpus.pictures; }
    std::uint64_t& begin_of(bool is_held_out);
    void end_shard(bool is_held_out);
    void write(Part part, bool is_held_out);
    void write_refusals();

    const std::filesystem::path folder_;
    const std::uint64_t shard_bytes_;
    corpus::Journal journal_;  ///< pictures in parts_ are not in it
    const std::uint64_t counted_;
    std::uint64_t position_;     ///< one past the last file that was added or counted
    std::array<Part, 2> parts_;  ///< to train on; held out
    std::vector<std::string> refusals_;
    bool has_new_refusals_ = false;
};

}  // namespace dedloc::pictures
