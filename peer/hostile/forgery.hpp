// What an adversary makes up: message bodies that follow from what it can know, which is what its
// own peer says and what others send it. All of them keep the bounds of the wire, so that they
// reach the protocol and are not refused as malformed.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::hostile {

/// Where the adversary's own, honest peer stands.
struct Standing {
    RunId run;
    std::uint64_t generation = 0;
    StepIndex step;
    Digest record;  ///< of the head
    Digest state;
};

/// Endpoints that a kDialStorm adversary names lie in this network, which is reserved for
/// documentation (RFC 5737): a peer that dials one has believed the adversary.
inline constexpr const char* kStormNetwork = "198.51.100.";
bool is_storm_endpoint(const Endpoint& endpoint);

class Forger {
  public:
    Forger(const KeyPair& key, Random random) : key_(key), random_(random) {}

    Digest random_digest();

    /// Higher than any that an honest voter stands for.
    Term high_term() const;
    /// The round of the head, with all samples given to the adversary.
    CommitRecord record(const Standing& standing);
    /// Granted, with a forged record as accepted in the highest term.
    wire::Promise promise(const Standing& standing, const Term& asked);
    /// All that a voter says of its own accord, signed by the adversary.
    std::vector<wire::Body> voters_words(const Standing& standing);

    /// The adversary's own vote for a state that it has made up.
    wire::StateVotes state_votes(const Standing& standing, StepIndex step, const Digest& record,
                                 const Digest& state);
    wire::StateOffer state_offer(const Standing& standing, std::uint64_t bytes);
    wire::RoundOffer round_offer(const Standing& standing);

    /// A plan of this term whose only reducer is the adversary, with as many endpoints as fit.
    wire::Plan storm_plan(const Term& term);

    /// The same number of elements, finite and wrong.
    wire::Elements garbage(const wire::Elements& elements, Random random) const;
    /// One element is NaN or infinite.
    wire::Elements not_finite(const wire::Elements& elements, bool is_nan) const;

  private:
    Certificate certificate(const Standing& standing, const Term& term, const Digest& digest) const;

    const KeyPair key_;
    Random random_;
};

}  // namespace dedloc::hostile
