// The message bodies that an adversary forges. They are made from what it can know: its own peer's
// messages and the messages that it receives. All of them keep the limits of the wire format, so
// they reach the protocol instead of being refused as malformed.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/base/units.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::hostile {

/// The head of the adversary's own, honest peer, from that peer's last heartbeat.
struct Standing {
    RunId run;                     ///< the run
    std::uint64_t generation = 0;  ///< the generation of the head
    StepIndex step;                ///< the step of the head
    Digest record;                 ///< the last record before the head
    Digest state;                  ///< the peer's state
};

/// All endpoints that a kDialStorm adversary names lie in this network, which is reserved for
/// documentation (RFC 5737). A peer that dials one of them has believed the adversary.
inline constexpr const char* kStormNetwork = "198.51.100.";
/// Whether the endpoint lies in kStormNetwork.
bool is_storm_endpoint(const Endpoint& endpoint);

/// A digest of nothing: 32 random bytes.
Digest random_digest(Random& random);
/// The average of this step that all hostile members name: they have agreed on it.
Digest forged_average(StepIndex step);

/// Size of the states that forged offers describe.
inline constexpr std::uint64_t kForgedStateBytes = 100'000;

/// Makes forged message bodies, signed with the adversary's key where they carry signatures.
class Forger {
  public:
    /// `elements` of forged records are the run's; `random` draws digests and endpoints.
    Forger(const KeyPair& key, std::uint64_t elements, Random random)
        : key_(key), elements_(elements), random_(random) {}

    /// A digest of nothing: 32 random bytes.
    Digest random_digest();

    /// A term higher than any for which an honest voter is a candidate.
    Term high_term() const;
    /// A record of the head's round that gives all samples and parts to the adversary.
    CommitRecord record(const Standing& standing);
    /// A granted promise that claims to have accepted a forged record in the highest term.
    wire::Promise promise(const Standing& standing, const Term& asked);
    /// Every message that a voter sends unasked, signed by the adversary.
    std::vector<wire::Body> voters_words(const Standing& standing);

    /// A forged state with a vote of this voter, whose signature is false.
    wire::StateVotes false_votes(const Standing& standing, const PeerKey& voter);
    /// The adversary's vote for a forged state.
    wire::StateVotes state_votes(const Standing& standing, StepIndex step, const Digest& record,
                                 const Digest& state);
    /// An offer of a forged state of this size, with random leaves.
    wire::StateOffer state_offer(const Standing& standing, std::uint64_t bytes);
    /// An offer of a forged round, with one random leaf.
    wire::RoundOffer round_offer(const Standing& standing);

    /// A plan of this term whose only reducer is the adversary, with as many endpoints as a plan
    /// may hold.
    wire::Plan storm_plan(const Term& term);

    /// A heartbeat that differs from this one in the term that it follows.
    wire::Heartbeat heartbeat_of_other_term(const wire::Heartbeat& heartbeat);
    /// A chunk like this one, of a contribution or of an average that does not exist.
    wire::Chunk early_chunk(const wire::Chunk& chunk);
    /// The Join of a member that holds this state, as it says, and has no samples.
    wire::Join empty_join(const Term& term, const Digest& state) const;

    /// The same elements, except that the last bits of the first one differ for different
    /// `receiver`s.
    wire::Elements nudged(const wire::Elements& elements, std::uint64_t receiver) const;
    /// As many elements of the same codec, finite and random.
    wire::Elements garbage(const wire::Elements& elements, Random random) const;
    /// The same elements, except that the last one is NaN or infinite. Requires another codec than
    /// int8.
    wire::Elements not_finite(const wire::Elements& elements, bool is_nan) const;
    /// The same elements with the largest exponent, of the last block with int8. Requires fp16 or
    /// int8.
    wire::Elements not_as_joined(const wire::Elements& elements) const;

  private:
    Certificate certificate(const Standing& standing, const Term& term, const Digest& digest) const;

    const KeyPair key_;
    const std::uint64_t elements_;
    Random random_;
};

}  // namespace dedloc::hostile
