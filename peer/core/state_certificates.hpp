// The state certificates that a peer knows, and the votes that may become one.
#pragma once

#include <map>
#include <optional>

#include "peer/membership/voter.hpp"

namespace dedloc {

/// Bookkeeping only: nothing here moves a head. Cleared when a generation begins.
class StateCertificates final {
  public:
    explicit StateCertificates(const membership::Voter& voter) : voter_(voter) {}

    /// Counts a voter's vote: `vote` has this one vote, and the voter has sent it itself. Of each
    /// voter the latest vote counts, together with those of other voters for the same state.
    /// Returns the certificate once a majority has voted for it.
    std::optional<StateCertificate> count(const PeerKey& voter, const StateCertificate& vote);
    /// Remembers a proven certificate. False: one of this step is known already.
    bool add(const StateCertificate& certificate);
    /// Forgets all votes and certificates.
    void clear();

    /// The certificate of the state `step`; null: none is known. Valid until the next add().
    const StateCertificate* at(StepIndex step) const;
    bool contains(StepIndex step) const { return at(step) != nullptr; }
    /// The one of the highest step; null: none is known. Valid until the next add().
    const StateCertificate* newest() const;
    /// The latest vote of this voter; null: it has not voted in this generation.
    const StateCertificate* vote_of(const PeerKey& voter) const;

  private:
    const membership::Voter& voter_;
    std::map<StepIndex, StateCertificate> certificates_;  ///< the newest few
    std::map<PeerKey, StateCertificate> votes_;           ///< the latest of each voter
};

}  // namespace dedloc
