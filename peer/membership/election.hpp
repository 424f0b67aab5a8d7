// Which voter coordinates. A voter that hears of no coordinator, holds the state and sees a
// majority of the voters stands; it leads once a majority has promised it a term, for as many steps
// as it stays in touch with a majority. No leader is displaced: a voter refuses candidates while it
// hears a coordinator. Terms only order claims: that two coordinators never decide differently is
// the voters' doing (voter.hpp), so a wrong guess here costs time and nothing else. Members that do
// not vote follow the voter with the highest term that they hear.
//
//   following ──no coordinator is heard, a majority is here──► standing ──promises of a──► leading
//       ▲  ▲                                                      │        majority           │
//       │  └────────────── refused, or too late: try again ───────┘                           │
//       └──────────────── a higher term leads, or no majority is here any more ───────────────┘
//
// Candidates take turns: the run's backbone stands at once, the others one election_pause later
// each, in the order of their keys.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"

namespace dedloc::membership {

class Election {
  public:
    Election(const PeerConfig& config, const PeerKey& self, const Links& links, Voter& voter,
             Random random);

    /// A candidate asks for our vote; `step` is its head.
    void on_elect(TimePoint now, const PeerKey& from, StepIndex step, const wire::Elect& elect,
                  Outbox& out);
    /// A voter answers our candidacy, or tells us that our term is over.
    void on_promise(const PeerKey& from, StepIndex step, const wire::Promise& promise, Outbox& out);
    /// A coordinator asks for our vote on a record: if we have promised more since, it is told.
    void on_propose(const PeerKey& from, const Term& term, Outbox& out);
    /// A peer says that it coordinates in this term. Ignored unless it is a voter, or if the term
    /// is lower than that of a coordinator that is alive.
    void on_coordinator(const Term& term, Outbox& out);
    /// A link has opened or closed: advance() looks at the voters again.
    void look_again() { look_at_ = TimePoint::min(); }
    /// The head has moved: what was accepted is decided.
    void head_changed();
    /// A new generation, or out of the swarm: forgets all terms.
    void reset();
    /// Leading, and should not any more.
    void step_down(Outbox& out, const std::string& why);

    /// `may_lead`: holds the state of the head, or is about to, and is not leaving.
    void advance(TimePoint now, bool may_lead, Outbox& out);

    bool is_leading() const { return phase_ == Phase::kLeading; }
    /// Followed or led; without a coordinator its key is all zero.
    const Term& term() const { return term_; }
    bool is_coordinator(const PeerKey& peer) const { return term_.coordinator == peer; }
    /// This peer leads, or the coordinator of term() is linked and says that it leads.
    bool has_live_leader() const;
    /// A majority of the voters is linked and votes, as advance() last saw.
    bool has_majority_here() const { return has_majority_here_; }
    /// Of those that have promised: what was accepted in the head's round, in the highest term.
    const std::optional<CommitRecord>& inherited() const { return inherited_; }

    TimePoint next_deadline() const;

  private:
    enum class Phase : std::uint8_t { kFollowing, kStanding, kLeading };

    std::vector<PeerKey> voters_here() const;
    bool leads(const PeerKey& peer) const;
    TimePoint turn(const std::vector<PeerKey>& here) const;
    void stand(TimePoint now, Outbox& out);
    void count_promises(Outbox& out);
    void take_promise(const PeerKey& from, StepIndex step, const wire::Promise& promise);

    const PeerConfig& config_;
    const PeerKey self_;
    const Links& links_;
    Voter& voter_;
    Random random_;
    Phase phase_ = Phase::kFollowing;
    Term term_;                   ///< followed or led
    Term candidacy_;              ///< stood for
    std::uint64_t highest_ = 0;   ///< number of a term seen
    std::set<PeerKey> promised_;  ///< for `candidacy_`
    std::optional<CommitRecord> inherited_;
    Term inherited_in_;
    TimePoint now_ = TimePoint::min();
    TimePoint look_at_ = TimePoint::min();  ///< at the voters again, at the latest
    TimePoint retry_at_ = TimePoint::min();
    TimePoint turn_at_ = kNever;  ///< to stand
    TimePoint unled_since_ = kNever;
    TimePoint majority_seen_ = TimePoint::min();
    bool has_majority_here_ = false;
};

}  // namespace dedloc::membership
