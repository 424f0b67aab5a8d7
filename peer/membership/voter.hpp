// What one peer has promised and voted for: the acceptor of single-decree Paxos, one instance a
// step (Lamport, "Paxos Made Simple", 2001), whose voters are the members that the decision before
// has named (vertical reconfiguration; Lamport, Malkhi, Zhou, 2009).
//
// Why no swarm splits    Only records that a quorum of the view has accepted in one term are
//     decided; two quorums of a view share a voter; a voter accepts nothing below what it has
//     promised; who proposes has asked a quorum first and takes over what it has accepted. So at
//     most one record of a step is ever decided, and with it the view of the next step.
// Forgetting             A voter that has restarted remembers no promise. It votes again only in a
//     view of a round that it was ready for in this life, unless it kept its VoterState on a disk.
// Lease                  Voters that have not heard a backbone for RoundRules::backbone_absence
//     accept nothing. After a quarter more a backbone that reaches no quorum may begin a new
//     generation: nobody decides in the old one any more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "peer/events.hpp"
#include "peer/peer.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::membership {

/// The number that only a backbone may use: whoever promises it decides nothing any more in this
/// generation.
inline constexpr std::uint64_t kLastTerm = ~std::uint64_t{0};

class Voter {
  public:
    Voter(const PeerConfig& config, const KeyPair& key);

    const Head& head() const { return head_; }
    bool is_in_view(const PeerKey& peer) const;
    /// In the round of the head. Not who has forgotten what it promised, nor who has renounced.
    bool may_vote() const { return state_.may_vote && state_.promised.number != kLastTerm; }
    const Term& promised() const { return state_.promised; }
    const std::optional<SignedGeneration>& generation() const { return generation_; }

    /// A backbone's sign of life.
    void heard_backbone(TimePoint now) { heard_backbone_ = now; }

    /// Its number is no more than kMaxTermLead above what is promised. The last one is for a
    /// backbone that begins a generation.
    bool is_near(const Term& term) const;
    /// Promises `term` in the round of the head, or says what stands against it.
    wire::Promise promise(const Term& term);
    /// Votes for the record, which the caller has checked against its own state: the signature of
    /// the vote, or nothing.
    std::optional<Signature> accept(TimePoint now, const Term& term, const CommitRecord& record);

    /// Whether it follows the head: same generation, step and record before it.
    bool extends_head(const CommitRecord& record) const;
    /// Whether the record is decided: certified by the view of the head, or known as the decision
    /// of one of the last steps.
    bool is_decided(const CommitRecord& record, const Certificate& certificate) const;
    /// The round of the head is decided. Requires extends_head(record). Votes in the next round if
    /// `was_ready` for this one in this life.
    void advance(const CommitRecord& record, bool was_ready);
    /// A state was loaded whole: this decision led to it, or a generation began with it. No vote.
    void adopt(const Head& head);
    /// False when it is not the project's, or not newer than ours.
    [[nodiscard]] bool begin(const SignedGeneration& generation);

    /// Of the record that led to state `step`, as far back as is known.
    std::optional<Digest> record_before(StepIndex step) const;
    /// Of the generation that the head is in: what its first record is chained to.
    const Digest& origin() const { return origin_; }
    /// The state that this generation begins with.
    StepIndex first_step() const;

    /// What must be remembered, when it has changed since the last call.
    std::optional<VoterState> take_change();
    void check_invariants() const;

  private:
    void remember(const CommitRecord& record);

    const PeerConfig& config_;
    const KeyPair key_;
    Head head_;
    Digest origin_;
    VoterState state_;
    bool has_changed_ = false;
    TimePoint heard_backbone_{};
    std::optional<SignedGeneration> generation_;
    std::map<StepIndex, Digest> decided_;  ///< the last few of this generation
};

}  // namespace dedloc::membership
