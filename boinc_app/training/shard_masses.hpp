// Weighted shards, of one source or of several, as things to draw from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/formats/sample_draws.hpp"
#include "peer/formats/source_spec.hpp"

namespace dedloc::training {

/// A thing of a shard.
struct ShardPlace {
    std::size_t shard = 0;    ///< index of the shard
    std::uint64_t index = 0;  ///< index of the thing within it
};

/// The running sums of weight × number of things over the shards of each source.
///
/// A thing is drawn in two steps: its source, with a probability in proportion to the weights of
/// those sources that have a thing here, and then a thing of that source. So where all sources are,
/// a sample's source follows from public numbers alone; a job without shards of a source draws from
/// the others, and their weights keep their proportions. If none of the sources with a weight is
/// here, all have equal weights. A run without sources draws in one step.
class ShardMasses {
  public:
    /// Masses of a run without sources.
    ShardMasses() : ShardMasses(std::span<const formats::SourceSpec>{}) {}
    /// Masses of a run with these sources, whose weights hold unless others are given; without any:
    /// as above.
    explicit ShardMasses(std::span<const formats::SourceSpec> sources);

    /// Adds the next shard; it may have nothing to draw. Requires that its source is one of the
    /// run's, 0 if there are none (DEDLOC_CHECK).
    void add(std::uint64_t weight, std::uint64_t count, std::uint32_t source);
    /// Whether there is nothing to draw.
    bool is_empty() const;
    /// Draws a thing. `weights`: one for each source; fewer: as if the later sources had nothing to
    /// draw; empty: those of the run file. Requires that there is something to draw
    /// (DEDLOC_CHECK). Cost: O(sources) and a binary search.
    ShardPlace draw(Random& random, std::span<const std::uint64_t> weights = {}) const;

  private:
    /// The shards of one source.
    struct Source {
        std::vector<std::uint64_t> ends{};     ///< running sums of weight × number of things
        std::vector<std::uint64_t> weights{};  ///< each shard's
        std::vector<std::size_t> shards{};     ///< their indices
        std::uint64_t total() const { return ends.empty() ? 0 : ends.back(); }
    };

    std::vector<Source> sources_;         // one if the run has none
    formats::SourceSet present_;          // those with something to draw
    std::vector<std::uint64_t> weights_;  // each source's; empty if the run has none
    std::size_t shards_ = 0;
};

}  // namespace dedloc::training
