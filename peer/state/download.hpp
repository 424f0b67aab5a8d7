// Fetches one array whose digest tree is known from everybody who holds it, leaf by leaf.
//
// Sharing    each donor has a window of 8 leaves; the next missing leaf goes to whoever has room
// The end    when all leaves are asked for, a donor with room is also asked for a leaf that the
//            others will take more than twice as long for
// Trust      none: every leaf is checked against the tree when it arrives
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/outbox.hpp"

namespace dedloc::state {

/// What a tree covers and how it is asked for.
struct Tree {
    StepIndex step;  ///< of the envelope of requests
    Digest root;     ///< named in requests
    std::vector<Digest> leaves;
    std::uint64_t bytes = 0;
};

class Download {
  public:
    static constexpr std::size_t kWindow = 8;  ///< 2 MiB hide 160 ms at 100 Mb/s

    enum class Outcome : std::uint8_t {
        kIgnored,   ///< of another tree, or not needed any more
        kVerified,  ///< written to its place
        kLie,       ///< a donor's leaf with other content
        kGone,      ///< the donor does not hold the array any more
    };

    /// Fills `target`, which outlives this. Requires target.size() = tree.bytes and as many leaves
    /// as that has (DEDLOC_CHECK).
    Download(Tree tree, std::span<std::byte> target);

    /// Another tree over the same target: leaves that are equal in both stay. Donors go.
    void rebase(Tree tree);
    /// Leaf `leaf` is known already. Requires data that the tree's digest names; writes it.
    void adopt(std::uint32_t leaf, std::span<const std::byte> data);

    void add_donor(TimePoint now, const PeerKey& peer);
    /// What was asked of it goes to others.
    void drop_donor(const PeerKey& peer);
    bool has_donor(const PeerKey& peer) const { return donors_.contains(peer); }
    std::size_t donor_count() const { return donors_.size(); }
    std::vector<PeerKey> donors() const;

    /// After kLie and kGone the caller drops the donor.
    Outcome received(TimePoint now, const PeerKey& from, std::uint32_t leaf,
                     std::span<const std::byte> data);
    /// Requests into every window that has room.
    void request(TimePoint now, Outbox& out);
    /// Donors that owe leaves and have sent none for `silence`.
    std::vector<PeerKey> stalled(TimePoint now, Duration failure_timeout) const;
    /// When stalled() or request() may have something new without anything having arrived.
    TimePoint next_deadline(Duration failure_timeout) const;

    const Tree& tree() const { return tree_; }
    std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(tree_.leaves.size()); }
    std::uint32_t verified() const { return verified_; }
    bool is_complete() const { return verified_ == leaf_count(); }
    bool has(std::uint32_t leaf) const { return has_[leaf]; }
    /// Bytes [first, first + size) of the array that the leaf covers.
    std::size_t leaf_size(std::uint32_t leaf) const;
    void check_invariants() const;

  private:
    struct Donor {
        std::vector<std::uint32_t> asked;  ///< in order, at most kWindow
        TimePoint since;                   ///< its last answer, or when the first was asked
        Duration pace{0};                  ///< between answers, smoothed; 0: not known yet
    };

    std::span<std::byte> place(std::uint32_t leaf) const;
    void mark(std::uint32_t leaf);
    void ask(TimePoint now, const PeerKey& peer, Donor& donor, std::uint32_t leaf, Outbox& out);
    /// How long until the donor's answer at this position of its queue.
    static Duration expected(TimePoint now, const Donor& donor, std::size_t position);
    /// Asks for the leaf that the others need longest for, if `donor` is much faster.
    bool ask_again(TimePoint now, const PeerKey& peer, Donor& donor, Outbox& out);

    Tree tree_;
    std::span<std::byte> target_;
    std::vector<bool> has_;
    std::vector<std::uint8_t> askers_;  ///< how many donors it is asked of
    std::uint32_t verified_ = 0;
    std::set<std::uint32_t> missing_;  ///< neither held nor asked for
    std::map<PeerKey, Donor> donors_;
    TimePoint looked_at_ = kNever;  ///< the end game was last looked at; kNever: not in it
};

}  // namespace dedloc::state
