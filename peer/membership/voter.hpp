// Where this peer's history stands, and, at a voter, what it has promised and voted for: the
// acceptor of Multi-Paxos (Lamport, "Paxos Made Simple", 2001), one instance a step. The voters are
// those that the project has appointed for the generation.
//
// Why there is one history    Only records that a majority of the voters have accepted in one term
//     are decided; two majorities share a voter; a voter accepts nothing in a term below the one it
//     has promised; a candidate leads only with the promises of a majority, none of which is ahead
//     of it, and proposes first what they have accepted. So at most one record of a step is
//     decided.
// Forgetting    A voter votes only in a generation that began after its memory did
//     (PeerConfig::voter): one that has lost its votes waits until the project appoints it again.
#pragma once

#include <cstdint>
#include <optional>

#include "peer/config.hpp"
#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::membership {

class Voter {
  public:
    Voter(const PeerConfig& config, const KeyPair& key);

    const Head& head() const { return head_; }
    bool is_voter(const PeerKey& peer) const;
    /// This peer is appointed and remembers its votes.
    bool may_vote() const { return state_.may_vote; }
    const Term& promised() const { return state_.promised; }
    const std::optional<SignedGeneration>& generation() const { return generation_; }

    /// Promises `term`, or says what stands against it.
    wire::Promise promise(const Term& term);
    /// Votes for the record, which the caller has compared with its own state: the signature of the
    /// vote, or nothing.
    std::optional<Signature> accept(const Term& term, const CommitRecord& record);
    /// The vote for the state that the head leads to, to be remembered before it is sent. Nothing
    /// if this peer may not vote, or has voted for another state.
    std::optional<Vote> vote_for_state(const Digest& state);
    /// The state that the head leads to, if this peer has voted for it, also in an earlier life.
    const std::optional<Digest>& voted_state() const { return state_.state; }
    /// This peer has voted for something that it does not know of, so its memory is not its last
    /// one: no more votes in this generation.
    void stop_voting();
    /// No vote on a record for a while: a generation is being signed that goes on from the state
    /// before it. Not durable.
    void pause(bool is_paused) { is_paused_ = is_paused; }

    /// Whether it follows the head: same generation, step and record before it.
    bool extends_head(const CommitRecord& record) const;
    /// Whether the record is decided in this generation: after the head, or before it.
    bool is_decided(const CommitRecord& record, const Certificate& certificate) const;
    /// Whether a majority of the voters of the head's generation have signed this state, or the
    /// project has, as the first one of the generation.
    bool is_proven(const StateCertificate& state) const;

    /// The round of the head is decided. Requires extends_head(record).
    void append(const CommitRecord& record);
    /// The history stands there, with the records between unknown. Requires a certificate that
    /// is_proven().
    void adopt(const StateCertificate& state);
    /// False when it is not the project's, or not newer than ours.
    [[nodiscard]] bool begin(const SignedGeneration& generation);

    /// The state that this generation begins with.
    StepIndex first_step() const;

    /// What must be remembered, when it has changed since the last call.
    std::optional<VoterState> take_change();
    void check_invariants() const;

  private:
    void move_to(const Head& head);
    void recall(const VoterState& remembered);

    const PeerConfig& config_;
    const KeyPair key_;
    Head head_;
    VoterState state_;
    bool has_changed_ = false;
    bool is_paused_ = false;
    std::optional<SignedGeneration> generation_;
};

}  // namespace dedloc::membership
