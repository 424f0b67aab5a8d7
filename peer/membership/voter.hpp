// This peer's head and, at a voter, its promises and votes: the acceptor of Multi-Paxos (Lamport,
// "Paxos Made Simple", 2001), with one instance for each step. The project appoints the voters of
// each generation.
//
// Safety    A record is decided once a majority of the voters have accepted it in one term. Two
//     majorities share a voter. A voter accepts nothing in a term below the one it has promised. A
//     candidate leads only with the promises of a majority, none of which is ahead of it, and first
//     proposes what they have accepted. So at most one record of a step is decided.
// Amnesia    A voter votes only in a generation that began after its durable memory did
//     (PeerConfig::voter): a voter that has lost its votes, or whose disk comes from a backup,
//     waits until the project appoints it again.
#pragma once

#include <cstdint>
#include <optional>

#include "peer/config.hpp"
#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::membership {

/// Head of every peer, and acceptor at a voter.
class Voter {
  public:
    /// Recovers head and votes from `config`, which must outlive it.
    Voter(const PeerConfig& config, const KeyPair& key);

    /// Step, last record and voters of the history here.
    const Head& head() const { return head_; }
    /// True if `peer` is a voter of the head's generation.
    bool is_voter(const PeerKey& peer) const;
    /// This peer is appointed and remembers its votes.
    bool may_vote() const { return state_.may_vote; }
    /// The record that this peer has voted for since the head, in the highest term; none: no vote.
    const std::optional<CommitRecord>& accepted() const { return state_.accepted; }
    /// The highest term promised in this generation.
    const Term& promised() const { return state_.promised; }
    /// The newest generation that the project has signed; none: generation 0.
    const std::optional<SignedGeneration>& generation() const { return generation_; }

    /// Promises `term`, or refuses and names the higher term that was promised.
    wire::Promise promise(const Term& term);
    /// Votes for the record, which the caller has compared with its own state. Returns the vote's
    /// signature; nothing if a promise, an earlier vote or the head forbids the vote.
    std::optional<Signature> accept(const Term& term, const CommitRecord& record);
    /// Votes for the state that follows from the head. The host must make the vote durable before
    /// it is sent. Nothing if this peer may not vote, or has voted for another state.
    std::optional<Vote> vote_for_state(const Digest& state);
    /// The state at the head that this peer has voted for, also before a restart; none: no vote.
    const std::optional<Digest>& voted_state() const { return state_.state; }
    /// This peer has met a vote of its own that it does not remember: its durable memory is not the
    /// newest one. No more votes in this generation.
    void stop_voting();
    /// Suspends votes on records while the project signs a generation that continues from the
    /// present state. Not durable.
    void pause(bool is_paused) { is_paused_ = is_paused; }

    /// Whether the record follows the head: same generation, step and previous record; its step is
    /// one of the run's.
    bool extends_head(const CommitRecord& record) const;
    /// Whether the certificate proves that the record is decided in this generation, as the next
    /// one after the head or before it. False at and after RoundRules::last_step, where no round
    /// is: not even a majority of lying voters moves the head beyond it.
    bool is_decided(const CommitRecord& record, const Certificate& certificate) const;
    /// Whether the first vote of `state` is signed by its voter. Requires a vote.
    /// Cost: one signature check.
    bool is_vote(const StateCertificate& state) const;
    /// Whether a majority of the voters of the head's generation have signed this state, or the
    /// project has signed it as the generation's first state. False after RoundRules::last_step.
    bool is_proven(const StateCertificate& state) const;

    /// The head's round is decided: moves the head by one record. Requires extends_head(record).
    void append(const CommitRecord& record);
    /// Moves the head to this state; the records between stay unknown. Requires a certificate of
    /// this generation that is_proven().
    void adopt(const StateCertificate& state);
    /// Begins a new generation. False if the project has not signed it, or if it is not newer.
    [[nodiscard]] bool begin(const SignedGeneration& generation);

    /// The votes that the host must make durable, if they have changed since the last call.
    std::optional<VoterState> take_change();
    /// Fails a DEDLOC_CHECK if the state contradicts itself.
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
