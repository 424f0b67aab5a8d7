// One member's share of the all-reduce of a round: scatters its contribution in chunks, sums the
// chunks that it reduces, and gathers the averaged chunks. Knows nothing of links, terms or time.
//
// Slices    A slice is one contributor's numbers of one chunk.
// Order     A chunk is summed once the slices of all contributors are here, in member order and not
//           in arrival order: every reducer of the chunk computes the same bits.
// Names     A slice carries its contributor's contribution id, a chunk of the average the sum id of
//           its contributors (wire::sum_id_of). So after an amendment, chunks that have arrived and
//           are still needed are not sent again: when a lost reducer's chunks move, all others are
//           kept; when a contributor is left out, the slices of the others are kept and summed
//           again.
// Pace      A contribution goes to all its reducers in proportion to their parts. Links share an
//           uplink equally, so otherwise the reducer of a large part would get most of it after the
//           small parts are done. Chunks become complete in the same order everywhere, so gather
//           overlaps with scatter.
// Windows   A contributor sends a reducer no slice that is a window ahead of the first chunk whose
//           average it lacks (reduction_window.cpp). So one slow contributor does not make the
//           reducers keep all slices of the others.
// Memory    The contribution (shared with the trainer), the average (N), the slices of the chunks
//           reduced here as they were sent, and chunks ahead of their plan: the newest of each
//           sender, at most 2 N elements and 8 MiB of bookkeeping. Once a chunk is averaged, its
//           slices are needed only if the sum changes: `kept_bytes` of them are kept, and the
//           oldest beyond that are freed. After an amendment with another sum the reducer asks for
//           them again (wire::SliceQuery). A contributor answers each reducer once for each sum
//           that has replaced another one, so a query gains nothing without an amendment.
// Trust     A slice counts for its sender only, an average only from the reducer of its chunk, and
//           a reducer to which a chunk moves passes on no average that it has not computed. If a
//           slice is not finite, or does not have the scale that its sender joined with, all slices
//           of that contribution are refused and the sender is reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/base/units.hpp"
#include "peer/events.hpp"
#include "peer/round/codec.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A chunk that is due to a member.
struct Due {
    wire::ChunkKind kind = wire::ChunkKind::kScatter;  ///< slice of the contribution, or average
    std::uint32_t chunk = 0;                           ///< index in the plan's cut
};

/// The data of one round at one member.
class Reduction {
  public:
    /// Smallest window of a contributor, in bytes. A gigabyte for 1,000 contributors; below that,
    /// round trips would slow down fast links.
    static constexpr std::uint64_t kMinWindowBytes = std::uint64_t{1} << 20;
    /// An honest member sends those of a contribution and a sum, and of a few plans before.
    static constexpr std::size_t kMaxUnknownSums = 16;

    /// `elements`: N. `kept_bytes`: RoundRules::kept_slice_bytes. `spare`: buffer of an old
    /// average, used again if nothing else holds it by then; may be null. All members must have the
    /// same `kept_bytes` and `min_window`: reducers blame no contributor that has filled its
    /// window.
    Reduction(std::uint64_t elements, Codec codec, const PeerKey& self, std::uint64_t kept_bytes,
              std::shared_ptr<FloatVector> spare = nullptr,
              std::uint64_t min_window = kMinWindowBytes)
        : elements_(elements),
          codec_(codec),
          self_(self),
          kept_bytes_(kept_bytes),
          min_window_(min_window),
          average_(std::move(spare)) {}

    /// The chunks of a reducer's part that a contributor to this plan may send ahead of the first
    /// one whose average it lacks: an equal share of `kept_bytes`, at least `min_window` bytes and
    /// two chunks.
    static std::uint32_t window_of(const wire::Plan& plan, Codec codec, std::uint64_t kept_bytes,
                                   std::uint64_t min_window = kMinWindowBytes);

    /// Follows a first or amended plan; `own` is the frozen contribution. Requires a plan that
    /// decode() accepts, over `elements`, with this member and at least one contributor.
    void follow(const wire::Plan& plan, const Encoder& own);
    /// What has become of a chunk.
    enum class Taken : std::uint8_t {
        kNothing,  ///< it is known, refused or of no use
        kPlaced,   ///< it was missing
        kEarly     ///< it fits no known plan
    };
    /// A chunk from another peer. One that fits no known plan is kept for a later plan; one of
    /// another codec is ignored.
    Taken take(const PeerKey& from, wire::Chunk chunk);
    /// True once after a follow() that has dropped averages of the present sum, because their
    /// chunks are reduced here now.
    bool take_dropped() { return std::exchange(has_dropped_, false); }
    /// Queries for freed slices that the plan needs again, with the contributor of each: once after
    /// follow().
    std::vector<std::pair<PeerKey, wire::SliceQuery>> take_queries();
    /// A reducer's query for slices that were sent to it. If it is about a plan that is not here,
    /// it waits for that plan; only a query of a reducer of the present plan counts.
    void send_again(const PeerKey& from, const wire::SliceQuery& query);
    /// Chunks on their way to this peer are lost: all that it should have is due again.
    void link_lost(const PeerKey& peer);

    /// The next chunk to send to `to`; nothing if none is due. Slices go before averages: no
    /// reducer can average without them, and a reducer with many averages would keep the others
    /// waiting. While pacing holds back the slices for `to`, averages go out.
    std::optional<Due> next(const PeerKey& to);
    /// Reducers that pacing held back and now allows to go on, once each.
    std::vector<PeerKey> take_released();
    /// True while pacing holds back a reducer's slices.
    bool holds_back() const { return !held_.empty(); }
    /// Ends pacing until the next plan.
    void release_all() { is_paced_ = false; }
    /// Reducers whose windows averages have opened, once each.
    std::vector<PeerKey> take_opened() { return std::exchange(opened_, {}); }
    /// True if there are chunks to send to `to`, now or when pacing or its window allows it.
    bool has_next(const PeerKey& to) const;
    /// The message for a due chunk.
    wire::Chunk body(const Due& due) const;

    /// True once follow() was called.
    bool is_following() const { return plan_.has_value(); }
    /// The plan and the sum id that are followed. plan() requires is_following().
    const wire::Plan& plan() const { return *plan_; }
    std::uint64_t sum_id() const { return sum_id_; }
    /// Every chunk reduced here is averaged.
    bool is_reduced() const { return unreduced_ == 0; }
    /// The whole average is here. A member that does not receive needs only its own chunks.
    bool is_complete() const { return missing_ == 0; }
    /// The average, N elements, and the root of its digest tree. Both require is_complete() and a
    /// member that receives.
    SharedFloats average() const;
    Digest digest(const kernels::Workers& workers = kernels::ThisThread{});
    /// Computes leaves of digest() for chunks that are already averaged. False: none is left for
    /// now.
    /// Cost: eight leaves, 2 MiB.
    bool work_ahead();
    /// Elements of the present sum's average that are digested.
    std::uint64_t digested() const { return tree_.digested(); }
    /// Plan indices of members whose slices, or whose averages, are still missing here. Slices that
    /// are a window ahead are not missing yet.
    std::vector<std::uint32_t> missing_senders() const;
    std::vector<std::uint32_t> missing_reducers() const;
    /// Those of missing_senders() for whose slices the windows of most contributors wait.
    std::vector<std::uint32_t> slowest_senders() const;
    /// Plan indices of members whose slices were refused here.
    std::vector<std::uint32_t> refused_senders() const;
    /// Plan indices, ascending, of members whose averages of this sum were refused here.
    std::vector<std::uint32_t> refused_reducers() const;
    /// Senders of chunks of more than kMaxUnknownSums sums and contributions that fit no plan here.
    /// The peer that makes the plans gets a few such chunks, of plans that others have made.
    const std::set<PeerKey>& flooders() const { return flooders_; }
    /// A member's part that it alone has reduced in this sum.
    struct Part {
        PeerKey reducer;             ///< the member
        std::uint64_t first = 0;     ///< its first element
        std::uint64_t elements = 0;  ///< how many there are
    };
    /// The parts that other members reduce, without chunks that have moved from one reducer to
    /// another. Requires is_following().
    std::vector<Part> parts_of_others() const;
    /// True if any chunk is still to be sent to another member.
    bool has_due_chunks() const;
    /// Number of averaged chunks that all receivers should get from here.
    std::size_t offered_chunks() const { return reduced_.size(); }
    /// Number of chunks that this member reduces, and how many of a contributor's slices of them
    /// come before any average. 0 before follow().
    std::uint32_t part_chunks() const;
    std::uint32_t first_chunks() const { return std::min(window_, part_chunks()); }
    /// Bytes of the slices kept here, without bookkeeping; those of averaged chunks alone.
    std::uint64_t slice_bytes() const;
    std::uint64_t spent_bytes() const { return spent_bytes_; }

    /// Fails a DEDLOC_CHECK if the state contradicts itself.
    void check_invariants() const;

  private:
    /// Slices kept of one contribution, by chunk.
    struct Kept {
        std::uint32_t contribution_id = 0;
        std::unordered_map<std::uint32_t, wire::Elements> chunks;
    };

    std::vector<std::uint32_t> senders_without(std::size_t chunks) const;
    void count_slices();
    void forget_chunks();
    void forget_sums();
    void forget_received();
    void forget_given(const wire::Plan& plan);
    void assign(const wire::Plan& plan);
    void note_spent();
    void has_spent(std::uint32_t chunk);
    std::uint64_t cost_of_slices(std::uint32_t chunk) const;
    void schedule_scatter();
    struct Scatter;
    std::uint64_t release_of(const Scatter& scatter) const;
    /// A full window ends pacing as well: the others need not keep in step with that reducer.
    bool is_released(std::uint64_t release) const {
        return !is_paced_ || !closed_.empty() || release <= scattered_;
    }
    void measure_windows(const wire::Plan& plan);
    void place_windows();
    void advance_open(std::uint32_t member);
    bool is_ahead(const Scatter& scatter) const;
    void open_window(std::uint32_t chunk);
    void replay_early();
    Taken place_slice(const PeerKey& from, wire::Chunk& chunk);
    Taken place_average(const PeerKey& from, const wire::Chunk& chunk);
    void keep_early(const PeerKey& from, wire::Chunk chunk);
    void forget_early(const PeerKey& peer);
    void check_early() const;
    void note_unknown(const PeerKey& from, const wire::Chunk& chunk);
    void reduce(std::uint32_t chunk);
    void has_become_known(std::uint32_t chunk);
    void offer(std::uint32_t chunk);
    wire::Elements own_slice(std::uint32_t chunk) const;
    std::span<float> average_slice(std::uint32_t chunk) const;
    std::uint64_t size_of(std::uint32_t chunk) const;
    std::uint64_t first_of(std::uint32_t chunk) const {
        return std::uint64_t{chunk} * plan_->chunk_elements;
    }
    std::uint32_t chunk_count() const { return static_cast<std::uint32_t>(owner_.size()); }
    bool is_mine(std::uint32_t chunk) const { return owner_[chunk] == own_index_; }

    const std::uint64_t elements_;
    const Codec codec_;
    const PeerKey self_;
    const std::uint64_t kept_bytes_;
    const std::uint64_t min_window_;
    std::optional<wire::Plan> plan_;
    std::uint32_t own_index_ = 0;
    bool receives_ = true;
    std::uint64_t sum_id_ = 0;
    Encoder own_;
    std::vector<std::uint32_t> contributors_;  ///< indices into the plan, in member order
    std::vector<std::uint64_t> weights_;       ///< their samples
    std::vector<std::uint32_t> owner_;         ///< plan index of each chunk's reducer
    std::vector<bool> is_moved_;               ///< chunks that had another reducer in this sum

    std::uint32_t window_ = 0;         ///< window_of() the plan
    std::vector<std::uint32_t> rank_;  ///< each chunk's place in its reducer's part
    /// Members' parts, by plan index: their chunks, ascending, and the place of the first one whose
    /// average is not known to be here.
    std::vector<std::vector<std::uint32_t>> parts_;
    std::vector<std::uint32_t> open_;
    std::set<PeerKey> closed_;  ///< reducers whose windows are full
    std::vector<PeerKey> opened_;

    std::map<PeerKey, Kept> kept_;
    std::set<PeerKey> false_averages_;          ///< reducers whose averages were not finite
    std::map<PeerKey, std::uint32_t> refused_;  ///< contribution id whose slices were refused
    std::vector<std::uint32_t> slices_here_;    ///< slices of other members kept of each chunk
    std::uint32_t slices_wanted_ = 0;           ///< contributors without this member
    std::deque<std::uint32_t> spent_;  ///< averaged chunks whose slices are kept, oldest first
    std::uint64_t spent_bytes_ = 0;    ///< the slices of `spent_`
    std::vector<bool> is_freed_;       ///< chunks whose slices were here and were freed
    std::map<PeerKey, wire::SliceQuery> queries_;  ///< ahead of their plan, the last of each
    std::set<PeerKey> answered_;                   ///< reducers whose query of this sum is answered
    bool has_former_sum_ = false;                  ///< this sum has replaced another one
    std::vector<PeerKey> scattered_to_;  ///< where each slice of ours was sent; zero: nowhere
    /// The slices of our contribution for one reducer.
    struct Scatter {
        std::deque<std::uint32_t> due;
        std::uint32_t member = 0;  ///< the reducer's index in the plan
        std::uint64_t chunks = 0;  ///< slices of this schedule, sent ones included
    };
    std::map<PeerKey, Scatter> scatter_;  ///< key: reducer
    std::uint64_t scatter_chunks_ = 0;    ///< slices of this schedule for all reducers
    std::uint64_t scattered_ = 0;         ///< how many of them were sent
    bool is_paced_ = true;
    std::set<std::pair<std::uint64_t, PeerKey>>
        held_;                                 ///< (`scattered_` that releases it, reducer)
    std::vector<bool> has_average_;            ///< whether each chunk's average is here
    std::vector<bool> is_received_;            ///< whether it came from another member
    bool has_dropped_ = false;                 ///< take_dropped()
    std::vector<std::uint8_t> exponents_;      ///< fp16: exponent of each averaged chunk
    std::vector<std::uint32_t> reduced_;       ///< averaged chunks for all receivers, oldest first
    std::vector<bool> is_offered_;             ///< whether each chunk is in `reduced_`
    std::map<PeerKey, std::size_t> gathered_;  ///< entries of `reduced_` sent to each receiver
    std::shared_ptr<FloatVector> average_;
    state::GrowingTree tree_;      ///< digest tree of the average, unused if not received
    std::uint32_t missing_ = 0;    ///< chunks of the average that are not here
    std::uint32_t unreduced_ = 0;  ///< chunks reduced here and not averaged yet
    /// Identity of a chunk: kind, id, index, cut.
    using Name = std::tuple<wire::ChunkKind, std::uint64_t, std::uint32_t, std::uint32_t>;
    static Name name_of(const wire::Chunk& chunk);
    /// One sender's chunks ahead of their plan.
    struct Early {
        std::deque<wire::Chunk> chunks;  ///< oldest first
        std::set<Name> names;            ///< names of `chunks`
        std::uint64_t cost = 0;          ///< memory of `chunks`, in elements
    };
    void drop_oldest(Early& early);
    std::map<PeerKey, Early> early_;
    std::uint64_t early_cost_ = 0;  ///< what all senders have here
    /// The first ones of each sender's sums and contributions that were not known when they came.
    std::map<PeerKey, std::set<std::uint64_t>> unknown_sums_;
    std::set<PeerKey> flooders_;
};

}  // namespace dedloc::round
