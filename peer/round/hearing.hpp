// How the coordinator judges complaints about members that do not send.
//
// Complaints are collected for kHearing, then judged together. A reducer may miss contributors, a
// receiver may miss reducers.
//
// A member that most reducers or receivers miss has failed: it is left out if it does not
// send its contribution, and excluded from later calls if a voter or two accounts miss it; a
// reducer that does not send averages loses its part. But a sender that does send to this peer has
// failed only if members in three networks miss it.
// What remains are pairs: two members that do not reach each other, says one of them. Pairs are
// remembered. A member that has been in pairs with more accounts than any of the others has failed
// itself, or lies: a witness is left out, a sender too, and excluded if three accounts have missed
// it, a reducer loses its part. Of a pair that does not tell, the reducer loses its part and both
// stay members. A member that misses this peer or a voter, or is missed by one of them, is the one
// that loses.
//
// complaints.hpp says what is remembered for the next rounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/round/callee.hpp"
#include "peer/round/judge.hpp"
#include "peer/round/member.hpp"

namespace dedloc::round {

/// How long complaints about the same loss are collected before any member is judged.
inline constexpr Duration kHearing = std::chrono::seconds{1};

/// Whether the peer reduces chunks of the plan.
bool reduces(const wire::Plan& plan, const PeerKey& peer);

/// One hearing about a planned round.
class Hearing {
  public:
    /// Complaints in one attempt, by the member that complains.
    using Stalls = std::map<PeerKey, wire::Stalled>;
    /// What all hearings of a coordinator need.
    struct Court {
        const PeerKey& self;             ///< this peer
        const membership::Links& links;  ///< its links
        const membership::Voter& voter;  ///< knows the voters
        const Member& own;               ///< its own member
        Judge& judge;                    ///< remembers
    };
    /// The round that it is about. Members that have failed are marked as lost in `callees`;
    /// reducers that lose their parts go to `demoted`.
    struct Case {
        TimePoint now;               ///< the time of the hearing
        const wire::Plan& plan;      ///< the present one
        Delay delay;                 ///< since it was sent
        bool is_link_known;          ///< the plan was made knowing some link
        Callees& callees;            ///< called to the round
        std::set<PeerKey>& demoted;  ///< reducers to relieve with the next amendment
    };

    /// Keeps references to all that `court`, `hearing` and `out` refer to.
    Hearing(const Court& court, const Case& round, Outbox& out)
        : court_(court), round_(round), out_(out) {}

    /// Judges these complaints. False if most members are slower than planned: then the round
    /// cannot go on, and it is the fault of none of them.
    [[nodiscard]] bool judge(const Stalls& stalls);
    /// Excludes a member that does not send.
    void drop(const PeerKey& peer, const std::string& why);
    /// Charges a member, unless the plan was made without knowing any link.
    void charge(const PeerKey& peer, std::uint32_t charges = 1);

  private:
    /// Complaints that are heard.
    struct Missed {
        std::map<PeerKey, std::set<PeerKey>> by{};  ///< a member, and those that miss it
        bool are_senders = false;  ///< missed by reducers; false: reducers, missed by receivers
    };
    struct Pair {
        PeerKey witness;  ///< misses `peer`
        PeerKey peer;
    };
    Missed missed(const Stalls& stalls) const;
    bool is_missed_by_most(const PeerKey& peer, const std::set<PeerKey>& witnesses,
                           bool is_sender) const;
    bool is_contradicted(const PeerKey& sender, const std::set<PeerKey>& witnesses) const;
    void accuse_witnesses(const Missed& missed, const std::vector<PeerKey>& failed);
    void judge_failed(const Missed& missed, const std::vector<PeerKey>& failed);
    void judge_pairs(const std::vector<Pair>& pairs, bool are_senders);
    void blame(const PeerKey& peer, const std::set<PeerKey>& witnesses, std::size_t all,
               bool is_sender);
    void part_from_trusted(const PeerKey& witness, const PeerKey& peer, bool is_sender);
    Callee* present(const PeerKey& peer);
    void leave_out(const PeerKey& peer, const std::string& why);
    void take_part(const PeerKey& reducer, const std::string& why);

    const Court court_;
    const Case round_;
    Outbox& out_;
};

}  // namespace dedloc::round
