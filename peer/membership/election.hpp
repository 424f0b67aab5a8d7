// Who coordinates. The backbone whenever it can; else the first of the view, by key, that can be
// dialled. Who is better but does not lead, for it reaches too few, is deferred to for as long as
// silence is borne, by the second one after it for twice as long. Terms only order claims; that no
// two coordinators decide differently is the voters' doing (voter.hpp), so a wrong guess here costs
// time and nothing else.
//
//   following ──nobody better leads, a quorum of the view is here──► standing ──promises of a
//       ▲  ▲                                                            │        quorum──► leading
//       │  └──────────────── refused, or too late: wait, try again ─────┘                     │
//       └───────────────── a higher term leads, or no quorum is left ─────────────────────────┘
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/round/outbox.hpp"

namespace dedloc::membership {

class Election {
  public:
    Election(const PeerConfig& config, const PeerKey& self, const Links& links, Voter& voter,
             Random random);

    /// Somebody stands. Refused while a better coordinator lives.
    void asked(TimePoint now, const PeerKey& from, StepIndex step, const wire::Elect& elect,
               round::Outbox& out);
    /// The coordinator's Call asks for the same promise.
    void called(const PeerKey& from, StepIndex step, const wire::Call& call, round::Outbox& out);
    void answered(const PeerKey& from, StepIndex step, const wire::Promise& promise,
                  round::Outbox& out);
    /// Its Propose waits for our vote: it is told when we have promised more meanwhile.
    void proposed(const PeerKey& from, StepIndex step, const Term& term, round::Outbox& out);
    /// Somebody coordinates in this term. Ignored if it cannot have been elected, or if the term is
    /// a lower one than that of a coordinator who lives.
    void heard(const Term& term, round::Outbox& out);
    /// Somebody has come or gone.
    void look_again() { look_at_ = TimePoint::min(); }
    /// A new round or generation: promises were for the old one.
    void round_changed();
    void reset();
    /// Leading with a state that the others do not have: somebody else should.
    void step_down(round::Outbox& out, const std::string& why);

    /// `may_stand`: holds the state of the head or is about to, and is not leaving. `is_idle`: in
    /// no round.
    void advance(TimePoint now, bool may_stand, bool is_idle, round::Outbox& out);
    /// Leading: asks those of the view that are not in the round; `seated` are asked by Call.
    void ask_others(const std::set<PeerKey>& seated, round::Outbox& out);

    bool is_leading() const { return phase_ == Phase::kLeading; }
    /// Nobody: the key is all zero.
    const Term& term() const { return term_; }
    bool is_coordinator(const PeerKey& peer) const { return term_.coordinator == peer; }
    /// Leading, and a quorum of the view has promised this round.
    bool has_promises() const;
    /// A quorum of the view was known here and voted when advance() last looked.
    bool has_quorum_here() const { return has_quorum_here_; }
    /// Whether term() names somebody who coordinates, as far as is known.
    bool has_leader() const {
        return term_.coordinator != PeerKey{} && (term_.coordinator != self_ || is_leading());
    }
    /// And that one is known here and says so itself.
    bool has_live_leader() const;
    /// Of those that promised: what was accepted in the highest term.
    const std::optional<CommitRecord>& inherited() const { return inherited_; }

    TimePoint next_deadline() const;

  private:
    enum class Phase : std::uint8_t { kFollowing, kStanding, kLeading };

    /// Those of the view that are known here and vote, this peer included.
    std::vector<PeerKey> voters_here() const;
    bool has_quorum_promised() const;
    bool outranks(const PeerKey& a, const PeerKey& b) const;
    bool is_eligible(const PeerKey& peer) const;
    bool could_lead(const Term& term) const;
    bool leads(const PeerKey& peer) const;
    bool may_coordinate(const PeerKey& peer) const;
    bool defers(TimePoint now, bool is_led, const std::vector<PeerKey>& here);
    void stand(TimePoint now, round::Outbox& out);
    void count_promises(round::Outbox& out);
    void take(const PeerKey& from, const wire::Promise& promise);
    void answer(const PeerKey& to, StepIndex step, const Term& term, round::Outbox& out);

    const PeerConfig& config_;
    const PeerKey self_;
    const Links& links_;
    Voter& voter_;
    Random random_;
    Phase phase_ = Phase::kFollowing;
    Term term_;                   ///< followed or led
    Term candidacy_;              ///< stood for
    std::uint64_t highest_ = 0;   ///< number seen
    std::set<PeerKey> promised_;  ///< for this round in `term_`
    std::optional<CommitRecord> inherited_;
    Term inherited_in_;
    TimePoint now_ = TimePoint::min();
    TimePoint look_at_ = TimePoint::min();  ///< at the view again, at the latest
    TimePoint retry_at_ = TimePoint::min();
    TimePoint deferring_since_ = kNever;  ///< to somebody better who does not lead
    TimePoint quorum_seen_ = TimePoint::min();
    bool has_quorum_here_ = false;
};

}  // namespace dedloc::membership
