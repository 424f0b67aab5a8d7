// One attempt at one all-reduce, as one member sees it: its slices go out, its own part is summed
// in member order, averages come in. Knows nothing of links, coordinators or time.
//
// Order     chunk c of part p is summed when every contributor's chunk c is here, in member order,
//           never in arrival order: every run of the same plan gives the same bits.
// Memory    the contribution (shared with the trainer), the average (N), and the slices of the own
//           part
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/units.hpp"
#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A chunk and the member it goes to.
struct Outgoing {
    PeerIndex to;
    wire::Chunk chunk;
};

class Reduction {
  public:
    /// `contribution.sum` has plan.boundaries.back() elements, or is null when this member's
    /// samples are 0.
    Reduction(wire::Plan plan, PeerIndex self, Contribution contribution);

    /// All slices of the own contribution, and what is already complete. Call once.
    std::vector<Outgoing> start();
    /// A chunk from member `from`. Chunks that cannot be right (wrong part, offset, size, sender)
    /// and repeated ones are ignored and counted.
    std::vector<Outgoing> take(PeerIndex from, const wire::Chunk& chunk);

    bool is_complete() const { return missing_elements_ == 0; }
    /// Requires is_complete(). N elements.
    SharedFloats average() const;
    std::uint64_t ignored_chunks() const { return ignored_chunks_; }
    const wire::Plan& plan() const { return plan_; }
    PeerIndex index_of(const PeerKey& peer) const;  ///< members.size() when it is not one

  private:
    struct Part {
        std::uint64_t first, last;
        std::uint64_t chunks;
    };
    Part part_of(PartIndex part) const;
    std::uint64_t chunk_index(const Part& part,
                              const wire::Chunk& chunk) const;  ///< part.chunks: bad
    void place_slice(PeerIndex from, std::uint64_t chunk, const float* first, std::uint64_t count);
    void reduce_chunk(std::uint64_t chunk, std::vector<Outgoing>& out);

    const wire::Plan plan_;
    const PeerIndex self_;
    const Contribution contribution_;
    const Part own_;
    std::vector<PeerIndex> contributors_;       ///< members with samples, in member order
    std::vector<std::uint64_t> weights_;        ///< their samples
    std::vector<FloatVector> slices_;           ///< by contributor: its slice of the own part
    std::vector<std::vector<bool>> has_chunk_;  ///< [contributor][chunk of the own part]
    std::vector<std::uint32_t> waiting_;  ///< by chunk of the own part: contributors still missing
    std::vector<std::vector<bool>> has_average_;  ///< [part][chunk]
    std::shared_ptr<FloatVector> average_;
    std::uint64_t missing_elements_;
    std::uint64_t ignored_chunks_ = 0;
};

}  // namespace dedloc::round
