// Writes the shards of a corpus and keeps the journal of its build.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "peer/formats/shard.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/corpus/encoder.hpp"

namespace dedloc::corpus {

/// A position between two documents of the text that is being read.
struct Position {
    std::uint64_t offset = 0;    ///< in bytes
    std::uint64_t document = 0;  ///< number of the document that follows
};

/// Collects documents and writes a shard whenever they are enough.
class ShardWriter final {
  public:
    /// Goes on from where `journal` ends. `source_of`: for each text the index of its source;
    /// empty: the corpus has no sources. Requires that its corpus names a vocabulary.
    ShardWriter(std::filesystem::path folder, Journal journal, std::uint64_t shard_tokens,
                std::vector<std::uint32_t> source_of = {});

    /// Adds a document that ends at `end`; one without a sentence is ignored. Errors: as
    /// end_shard().
    void add(const EncodedText& text, const Position& end);
    /// Writes what has been collected, if anything, and then a journal that goes on from `next`.
    /// Errors: InputError (too many shards; one that there is already), IoError.
    void end_shard(const Position& next);
    /// The next documents are those of this text.
    void begin_text(std::uint64_t text);
    /// The next documents are held out.
    void begin_held_out();

    /// Gives the shards of each text the weight that makes its share of a peer's samples
    /// proportional to weights[text], and sorts the shards by name, which mixes the texts. Requires
    /// a weight > 0 for each text, or none at all, and that shards end with their text. Errors:
    /// InputError when a text has no start.
    void finish(std::span<const double> weights);
    /// Gives the sources of the corpus these weights, and sorts the shards by name. Empty: weights
    /// in proportion to their starts. Requires that shards end with their source. Errors:
    /// InputError when a source has no start.
    void finish_sources(std::span<const double> weights);
    /// What has been written, and where that ends.
    const Journal& journal() const { return journal_; }
    /// Tokens written and collected.
    std::uint64_t token_count() const { return journal_.corpus.tokens + pending_.tokens; }
    /// Tokens among them that stand for text that is in no piece.
    std::uint64_t unknown_count() const { return journal_.corpus.unknown + pending_.unknown; }

  private:
    void write(const formats::Shard& shard);

    const std::filesystem::path folder_;
    const std::uint64_t shard_tokens_;
    const std::vector<std::uint32_t> source_of_;
    Journal journal_;  ///< the documents in builder_ are not in it
    Corpus pending_;   ///< counts of the documents in builder_
    formats::ShardBuilder builder_;
};

}  // namespace dedloc::corpus
