// The data of one round, as one member sees it: its contribution goes out in chunks, the chunks it
// reduces are summed in member order, averages come in. Knows nothing of links, terms or time.
//
// Order     chunk c is summed when every contributor's chunk c is here, in member order, never in
//           arrival order: whoever reduces it gets the same bits.
// Names     a chunk of a contribution carries its contributor's contribution_id, a chunk of the
//           average the sum_id of its contributors (wire::sum_id_of). So a plan can be amended and
//           chunks that have arrived and are still needed are not sent again: moving a lost
//           reducer's chunks keeps all others; leaving a contributor out keeps what was scattered,
//           and sums it anew.
// Pace      a contribution goes to all its reducers in proportion: links share an uplink equally,
//           and one with a large part would be left with most of it when the small parts are done.
//           Chunks become whole in the same order everywhere, so averages come while it is still
//           scattered.
// Memory    the contribution (shared with the trainer), the average (N), what contributors sent for
//           the chunks reduced here as they sent it, and chunks ahead of their plan (of each sender
//           at most 2 N elements and 8 MiB for keeping books, the newest)
// Trust     a slice counts for its sender only, an average only from the reducer of its chunk; a
//           slice that is not finite, or not beside the exponent that its sender has joined with,
//           is refused with all that the sender has sent of this contribution, and the sender is
//           named
#pragma once

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

#include "peer/base/units.hpp"
#include "peer/events.hpp"
#include "peer/round/codec.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// A chunk that is due to a member.
struct Due {
    wire::Phase phase = wire::Phase::kScatter;
    std::uint32_t chunk = 0;
};

class Reduction {
  public:
    /// `room` of a former average is used again if nobody else holds it by then; may be null.
    Reduction(std::uint64_t elements, Codec codec, const PeerKey& self,
              std::shared_ptr<FloatVector> spare = nullptr)
        : elements_(elements), codec_(codec), self_(self), average_(std::move(spare)) {}

    /// A new plan, or an amended one; `own` is the frozen contribution. Requires a plan that
    /// decode() lets through, of `elements`, with this member in it and a contributor.
    void follow(const wire::Plan& plan, const Encoder& own);
    /// From another peer; whatever cannot be right, or is of another codec, is ignored.
    void take(const PeerKey& from, wire::Chunk chunk);
    /// What was under way to this peer is lost: all that it should have is due again.
    void link_lost(const PeerKey& peer);

    /// The next chunk that `to` should get: contributions before averages, for nobody averages
    /// without them, and whoever has many averages to give would keep the others waiting. Averages
    /// also while its part of the contribution is so far ahead of the others' that it is held back;
    /// nothing if there are none.
    std::optional<Due> next(const PeerKey& to);
    /// Who is held back no more, once each.
    std::vector<PeerKey> take_released();
    bool holds_back() const { return !held_.empty(); }
    /// Nobody is held back any more until the next plan.
    void release_all() { is_paced_ = false; }
    bool has_next(const PeerKey& to) const;
    wire::Chunk body(const Due& due) const;

    bool is_following() const { return plan_.has_value(); }
    const wire::Plan& plan() const { return *plan_; }
    std::uint64_t sum_id() const { return sum_id_; }
    /// Every chunk reduced here is averaged.
    bool is_reduced() const { return unreduced_ == 0; }
    /// The whole average is here (nothing of it is wanted by a member that does not receive).
    bool is_complete() const { return missing_ == 0; }
    /// Requires is_complete(), of a member that receives. N elements, and state::average_digest()
    /// of them.
    SharedFloats average() const;
    Digest digest();
    /// Some of what digest() will have to do. False: no more can be done so far.
    /// Cost: eight leaves, 2 MiB.
    bool work_ahead();
    /// Members of the plan whose contribution, or whose averages, are still missing here.
    std::vector<std::uint32_t> missing_senders() const;
    std::vector<std::uint32_t> missing_reducers() const;
    /// Members of the plan whose slices were refused here.
    std::vector<std::uint32_t> refused_senders() const;
    bool has_due_chunks() const;
    /// How many averaged chunks are offered to all.
    std::size_t offered_chunks() const { return reduced_.size(); }

    void check_invariants() const;

  private:
    struct Kept {
        std::uint32_t contribution_id = 0;
        std::unordered_map<std::uint32_t, wire::Elements> chunks;
    };

    void count_slices();
    void forget_chunks();
    void forget_sums();
    void forget_given(const wire::Plan& plan);
    void assign(const wire::Plan& plan);
    void schedule_scatter();
    struct Scatter;
    std::uint64_t release_of(const Scatter& scatter) const;
    void replay_early();
    bool place_slice(const PeerKey& from, wire::Chunk& chunk);
    bool place_average(const PeerKey& from, const wire::Chunk& chunk);
    void keep_early(const PeerKey& from, wire::Chunk chunk);
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
    std::optional<wire::Plan> plan_;
    std::uint32_t own_index_ = 0;
    bool receives_ = true;
    std::uint64_t sum_id_ = 0;
    Encoder own_;
    std::vector<std::uint32_t> contributors_;  ///< indices into the plan, in member order
    std::vector<std::uint64_t> weights_;       ///< their samples
    std::vector<std::uint32_t> owner_;         ///< by chunk: index of its reducer

    std::map<PeerKey, Kept> kept_;
    std::map<PeerKey, std::uint32_t> refused_;  ///< the freeze of which slices were refused
    std::vector<std::uint32_t> slices_here_;    ///< by chunk: how many of the others' are kept
    std::uint32_t slices_wanted_ = 0;           ///< contributors but ourselves
    std::vector<PeerKey> scattered_to_;         ///< by chunk of the own contribution
    /// What one reducer gets of the own contribution.
    struct Scatter {
        std::deque<std::uint32_t> due;
        std::uint32_t member = 0;  ///< its index in the plan
        std::uint64_t chunks = 0;  ///< with those that it was given
    };
    std::map<PeerKey, Scatter> scatter_;  ///< by reducer
    std::uint64_t scatter_chunks_ = 0;    ///< to all of them
    std::uint64_t scattered_ = 0;         ///< of these
    bool is_paced_ = true;
    std::set<std::pair<std::uint64_t, PeerKey>> held_;  ///< by the `scattered_` that frees them
    std::vector<bool> has_average_;                     ///< by chunk
    std::vector<std::uint8_t> exponents_;               ///< of these averages, by chunk
    std::vector<std::uint32_t> reduced_;       ///< to be given to all, in the order of becoming so
    std::vector<bool> is_offered_;             ///< by chunk: in `reduced_`
    std::map<PeerKey, std::size_t> gathered_;  ///< by receiver: how many of `reduced_` it was given
    std::shared_ptr<FloatVector> average_;
    state::GrowingTree tree_;      ///< of the average, where it is received
    std::uint32_t missing_ = 0;    ///< chunks of the average
    std::uint32_t unreduced_ = 0;  ///< own chunks not averaged
    /// What a chunk is a piece of, and which.
    using Name = std::tuple<wire::Phase, std::uint64_t, std::uint32_t, std::uint32_t>;
    static Name name_of(const wire::Chunk& chunk);
    struct Early {
        std::deque<wire::Chunk> chunks;  ///< oldest first
        std::set<Name> names;            ///< of these
        std::uint64_t cost = 0;          ///< of keeping them, in elements
    };
    std::map<PeerKey, Early> early_;
};

}  // namespace dedloc::round
