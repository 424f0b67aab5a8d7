// The contribution that a member has frozen. It outlives cancelled rounds, and those that the
// member misses, until a record counts it or it is too old.
#pragma once

#include <cstdint>
#include <utility>

#include "peer/membership/voter.hpp"
#include "peer/round/codec.hpp"

namespace dedloc::round {

/// A member's contribution, and the rounding error that the next one makes up for.
class HeldContribution {
  public:
    /// `first_id`: drawn, so that chunks sent before a restart do not match.
    HeldContribution(Codec codec, std::uint32_t first_id) : id_(first_id), feedback_(codec) {}

    /// The trainer freezes the samples since this state: the next contribution.
    void begin(StepIndex began_at) {
        began_at_ = began_at;
        ++id_;
    }
    /// It is frozen.
    void hold(Contribution contribution) {
        encoder_ = feedback_.freeze(std::move(contribution));
        is_offered_ = false;
    }
    /// A Join names it.
    void offer() { is_offered_ = is_held(); }
    /// It counts in no round, as far as is known: the swarm may still decide to count it.
    void drop() {
        if (is_held()) feedback_.forget();
        encoder_ = {};
        is_offered_ = false;
    }
    /// Settles its rounding error: this is `own` line of a decided record; null: it has none.
    /// `is_kept`: a contribution that is not counted waits for a later round. False if the record
    /// counts another contribution of this peer.
    bool settle(const CommitLine* own, bool is_kept);

    /// Whether it has samples.
    bool is_held() const { return contribution().samples > Samples{0}; }
    /// Whether a Join has named it and no decision of that round is known.
    bool is_offered() const { return is_offered_; }
    /// Whether this is the contribution that a plan's member has joined with.
    bool is_named_by(const wire::PlanMember& member) const {
        return member.samples == contribution().samples && member.contribution_id == id_;
    }
    /// Whether its first samples are more than `steps` older than `step`.
    bool is_older_than(std::uint64_t steps, StepIndex step) const {
        return step.value() > began_at_.value() + steps;
    }
    /// Its number: counts up.
    std::uint32_t id() const { return id_; }
    /// It, before rounding.
    const Contribution& contribution() const { return encoder_.contribution(); }
    /// Encodes its slices.
    const Encoder& encoder() const { return encoder_; }
    /// The rounding error that the next one makes up for; null: none.
    SharedFloats residual() const { return feedback_.residual(); }

  private:
    std::uint32_t id_;
    StepIndex began_at_;  ///< the state of its first samples
    bool is_offered_ = false;
    Encoder encoder_;
    Feedback feedback_;
};

}  // namespace dedloc::round
