// Leader election among the voters. A voter that knows no live coordinator, holds the state and is
// linked to a majority of the voters becomes a candidate. It leads once a majority has promised it
// a term, and goes on leading, step after step, while it is linked to a majority. A live leader is
// not displaced: voters refuse candidates while they know a live coordinator. Elections are about
// liveness only: the voters' promises (voter.hpp) keep two coordinators from deciding differently,
// so a wrong guess here costs time and nothing else. Members that do not vote follow the voter with
// the highest term that they hear of.
//
//   following ──no live coordinator, majority linked─► standing ─promises of a majority─► leading
//       ▲  ▲                                              │                                  │
//       │  └─────────── refused, or timeout: retry ───────┘                                  │
//       └────────────────── a higher term leads, or the majority is lost ────────────────────┘
//
// Distrust  A coordinator whose proposals this voter refuses for a failure timeout is deposed: for
//     kDistrust this voter does without it as coordinator, and as a candidate without its promises.
//     Only while a majority of the voters is here without it, so a mistake stops nothing.
//
// Candidates take turns: the run's backbone stands at once, each other voter one election_pause
// after the voter before it, in the order of their keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"

namespace dedloc::membership {

/// The coordinator that this peer follows, and its own candidacies.
class Election {
  public:
    /// Keeps references to `config`, `links` and `voter`, which must outlive it.
    Election(const PeerConfig& config, const PeerKey& self, const Links& links, Voter& voter,
             Random random);

    /// A candidate asks us to promise its term; `step` is that of its head.
    void on_elect(TimePoint now, const PeerKey& from, StepIndex step, const wire::Elect& elect,
                  Outbox& out);
    /// A voter answers our candidacy, or tells us that it has promised a higher term than ours.
    void on_promise(const PeerKey& from, StepIndex step, const wire::Promise& promise, Outbox& out);
    /// A coordinator asks for our vote on a record. Tells it if we have promised a higher term.
    void on_propose(const PeerKey& from, const Term& term, Outbox& out);
    /// A peer says that it coordinates in this term. Ignored unless it is a voter, or if the term
    /// is lower than that of a coordinator that is alive.
    void on_coordinator(const Term& term, Outbox& out);
    /// A link has opened or closed: advance() counts the voters again.
    void count_again() { next_count_at_ = TimePoint::min(); }
    /// The head has moved: ends a candidacy, and forgets the record inherited for the old head.
    void head_changed();
    /// A new generation has begun, or this peer has left the swarm: forgets all terms.
    void reset();
    /// Does without this voter for kDistrust.
    void distrust(TimePoint now, const PeerKey& voter) { distrusted_[voter] = now + kDistrust; }
    /// Whether this voter is done without at the moment.
    bool is_distrusted(const PeerKey& voter) const;
    /// Too few voters vote for inherited(), which one of them says it has accepted: stands again
    /// without that voter's promise. Requires is_leading() and inherited().
    void doubt_inherited(TimePoint now, Outbox& out);
    /// A majority of the voters is linked and able to vote without these, this peer included.
    bool has_majority_without(const std::set<PeerKey>& voters) const;
    /// Stops leading; `why` is logged. Requires is_leading().
    void step_down(Outbox& out, const std::string& why);

    /// Handles timeouts and stands if it is our turn. `may_lead`: this peer holds the head's state,
    /// or is about to, and is not leaving.
    void advance(TimePoint now, bool may_lead, Outbox& out);

    /// True while this peer coordinates.
    bool is_leading() const { return phase_ == Phase::kLeading; }
    /// The term that is followed or led; its key is zero if there is no coordinator.
    const Term& term() const { return term_; }
    /// True if `peer` coordinates term().
    bool is_coordinator(const PeerKey& peer) const { return term_.coordinator == peer; }
    /// This peer leads, or the coordinator of term() is linked and says that it leads.
    bool has_live_leader() const;
    /// A majority of the voters was linked and able to vote when advance() last counted.
    bool has_majority_here() const { return has_majority_here_; }
    /// The record accepted for the head's round in the highest term, among the voters that have
    /// promised our term; a leader must propose it first. None: no such record.
    const std::optional<CommitRecord>& inherited() const { return inherited_; }

    /// When advance() must be called next; kNever: not before another event.
    TimePoint next_deadline() const;

  private:
    static constexpr Duration kDistrust = std::chrono::minutes{10};
    enum class Phase : std::uint8_t { kFollowing, kStanding, kLeading };

    std::vector<PeerKey> voters_here() const;
    bool leads(const PeerKey& peer) const;
    TimePoint turn(const std::vector<PeerKey>& here) const;
    void see(std::uint64_t number, const PeerKey& voter, Outbox& out);
    std::uint64_t highest() const;
    void stand(TimePoint now, Outbox& out);
    void count_promises(Outbox& out);
    void take_promise(const PeerKey& from, StepIndex step, const wire::Promise& promise);

    const PeerConfig& config_;
    const PeerKey self_;
    const Links& links_;
    Voter& voter_;
    Random random_;
    Phase phase_ = Phase::kFollowing;
    Term term_;                   ///< the term that is followed or led
    Term candidacy_;              ///< the term that this peer last stood for
    std::uint64_t highest_ = 0;   ///< highest term number seen
    std::set<PeerKey> promised_;  ///< voters that have promised `candidacy_`
    std::optional<CommitRecord> inherited_;
    Term inherited_in_;                        ///< the term in which `inherited_` was accepted
    PeerKey inherited_from_;                   ///< the voter that says so
    std::map<PeerKey, TimePoint> distrusted_;  ///< until when
    TimePoint now_ = TimePoint::min();
    TimePoint next_count_at_ = TimePoint::min();  ///< when the voters are counted again
    TimePoint retry_at_ = TimePoint::min();       ///< this peer does not stand again earlier
    TimePoint turn_at_ = kNever;                  ///< when this peer stands
    TimePoint unled_since_ =
        kNever;  ///< since then this peer could lead and no coordinator is live
    TimePoint majority_seen_ = TimePoint::min();
    bool has_majority_here_ = false;
};

}  // namespace dedloc::membership
