// Download fetches one array with a known digest tree from several donors at once, leaf by leaf.
//
// Windows    Each donor owes two leaves at first, then as many as it sends in two seconds, at most
//            8: a slow link is not filled with leaves that may not be wanted any more when they
//            arrive. The next missing leaf is requested from any donor whose window is not full, so
//            fast donors deliver more.
// End game   When every leaf has been requested, a donor with a free slot is also asked for a leaf
//            that its present donors are expected to take more than twice as long for; but not
//            while leaves keep arriving, since then this peer's own link may be what all wait for.
// Trust      None: every leaf is checked against the tree when it arrives.
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

/// The digest tree of an array, and how its leaves are requested.
struct Tree {
    StepIndex step;              ///< the step in the envelope of each LeafRequest
    Digest root;                 ///< names the array in each LeafRequest
    std::vector<Digest> leaves;  ///< the digest of each leaf, in order
    std::uint64_t bytes = 0;     ///< the array's size
};

/// One download: windows, verification, retries. It sends LeafRequests only from request().
class Download {
  public:
    static constexpr std::size_t kWindow = 8;  ///< leaves; 2 MiB hide 160 ms at 100 Mbit/s

    /// What received() made of a leaf.
    enum class Outcome : std::uint8_t {
        kIgnored,   ///< not a leaf of this tree, already held, or wrong and not from a donor
        kVerified,  ///< its digest is right; it has been written to the target
        kLie,       ///< a donor's leaf whose size or digest is wrong
        kGone,      ///< the donor does not hold the array any more
    };

    /// Fills `target`, which must outlive this object. `leaf_time` is what an earlier download has
    /// measured; 0: unknown. Requires target.size() = tree.bytes and as many leaves as an array of
    /// that size has (DEDLOC_CHECK).
    Download(Tree tree, std::span<std::byte> target, Duration leaf_time = {});

    /// Continues with another tree over the same target: keeps the verified leaves that are equal
    /// in both trees and drops all donors.
    void rebase(Tree tree);
    /// Writes a leaf that the caller already holds. Requires data whose digest is the tree's.
    void adopt(std::uint32_t leaf, std::span<const std::byte> data);

    /// Adds a peer that holds the array; nothing happens if it is a donor already.
    void add_donor(TimePoint now, const PeerKey& peer);
    /// Removes a donor; request() asks other donors for the leaves that it owed.
    void drop_donor(const PeerKey& peer);
    /// Whether the peer is a donor.
    bool has_donor(const PeerKey& peer) const { return donors_.contains(peer); }
    /// Number of donors.
    std::size_t donor_count() const { return donors_.size(); }
    /// The donors' keys, ascending.
    std::vector<PeerKey> donors() const;

    /// Takes a leaf. After kLie and kGone the caller must drop the donor.
    Outcome received(TimePoint now, const PeerKey& from, std::uint32_t leaf,
                     std::span<const std::byte> data);
    /// Sends LeafRequests until every window is full or every leaf has been requested.
    void request(TimePoint now, Outbox& out);
    /// The donors that owe leaves and have sent none for `failure_timeout`, and as long again as
    /// two leaves of each donor take on this peer's link.
    std::vector<PeerKey> stalled(TimePoint now, Duration failure_timeout) const;
    /// When stalled() or request() may have something to do although no leaf has arrived; kNever if
    /// never.
    TimePoint next_deadline(Duration failure_timeout) const;

    /// Smoothed time between two leaves of any donors while leaves are owed; 0: unknown.
    Duration leaf_time() const { return leaf_time_; }
    /// The tree that leaves are checked against.
    const Tree& tree() const { return tree_; }
    /// Number of leaves of the tree.
    std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(tree_.leaves.size()); }
    /// Number of leaves that are verified and written.
    std::uint32_t verified() const { return verified_; }
    /// Whether every leaf is verified.
    bool is_complete() const { return verified_ == leaf_count(); }
    /// Number of bytes that the leaf covers: 256 KiB, or fewer for the last one.
    std::size_t leaf_size(std::uint32_t leaf) const;
    /// DEDLOC_CHECKs that each leaf is either held, requested or missing, and all counters.
    void check_invariants() const;

  private:
    struct Donor {
        std::vector<std::uint32_t> asked;  ///< leaves it owes, in order of request; ≤ kWindow
        TimePoint since;                   ///< its last answer, or the request to an idle donor
        Duration pace{0};                  ///< smoothed time between answers; 0: unknown
    };

    /// Whether any donor owes a leaf.
    bool is_owed_any() const;
    /// A donor that owes leaves and has sent nothing for so long has stalled.
    Duration stall_timeout(Duration failure_timeout) const;
    /// A leaf has arrived that a donor owed.
    void arrived(TimePoint now);
    /// Whether the last leaf arrived so recently that the next one may be under way.
    bool is_arriving(TimePoint now) const;
    /// The part of the target that this leaf fills.
    std::span<std::byte> place(std::uint32_t leaf) const;
    /// Marks the leaf as held and cancels its outstanding requests here.
    void mark(std::uint32_t leaf);
    /// How many leaves the donor may owe.
    static std::size_t window(const Donor& donor);
    void ask(TimePoint now, const PeerKey& peer, Donor& donor, std::uint32_t leaf, Outbox& out);
    /// Expected time until the donor's answer at this position of its queue.
    static Duration expected(TimePoint now, const Donor& donor, std::size_t position);
    /// Requests from `donor` the leaf that is expected last, if it is much faster than the donors
    /// that owe this leaf. Returns whether it did.
    bool ask_again(TimePoint now, const PeerKey& peer, Donor& donor, Outbox& out);

    Tree tree_;
    std::span<std::byte> target_;
    std::vector<bool> has_;             ///< whether each leaf is verified
    std::vector<std::uint8_t> askers_;  ///< how many donors owe each leaf
    std::uint32_t verified_ = 0;
    std::set<std::uint32_t> missing_;  ///< leaves neither held nor requested
    std::map<PeerKey, Donor> donors_;
    TimePoint looked_at_ = kNever;  ///< when the end game was last checked; kNever: not in it
    Duration leaf_time_;            ///< see leaf_time()
    TimePoint waits_since_{};       ///< the last arrival, or the request when nothing was owed
};

}  // namespace dedloc::state
