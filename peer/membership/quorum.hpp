// Quorums and certificates: which votes of a generation's voters prove a record, or a state. Any
// two majorities share a voter, so no two records of one round can both be decided. Stateless.
#pragma once

#include <span>

#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::membership {

/// Whether `some` are more than half of `voters`.
///
/// Order     both ascending by key without repetition; anything else is no majority
/// Returns   false also if one of `some` is no voter
/// Cost      one pass over both
bool is_majority(std::span<const PeerKey> voters, std::span<const PeerKey> some);

/// Whether `record` can come next after `head`: same generation, the round's step, chained to the
/// last record, members ascending by key, finite losses, 1 to wire::kMaxSamples samples and 1 to
/// wire::kMaxElements reduced elements in all.
bool extends(const Head& head, const CommitRecord& record);

/// Whether `certificate` proves that `record` is decided as the record after `head`: the record
/// extends the head, and a majority of the head's voters have signed it in the certificate's term.
///
/// Untrusted  both may be anything
/// Cost       one signature check a vote (0.06 ms), after everything cheaper has passed
bool is_certified(const RunId& run, const Head& head, const CommitRecord& record,
                  const Certificate& certificate);

/// Whether a majority of `voters` have signed this record in the certificate's term. At most one
/// record of a generation and step is decided, so this proves records before the head as well.
///
/// Untrusted  both may be anything
/// Cost       one signature check a vote
bool is_certified(const RunId& run, std::span<const PeerKey> voters, const CommitRecord& record,
                  const Certificate& certificate);

/// Whether a majority of `voters` have signed that they hold this state.
///
/// Untrusted  the certificate may be anything; the caller compares its generation
/// Cost       one signature check a vote
bool is_certified(const RunId& run, std::span<const PeerKey> voters,
                  const StateCertificate& certificate);

/// The head after the decision of `record`, which must extend `head`.
Head head_after(const Head& head, const CommitRecord& record);

/// The head at the beginning of a generation.
Head head_after(const RunId& run, const GenerationRecord& record);

/// Whether the project has signed this for this run.
bool is_signed(const RunId& run, const PeerKey& project, const SignedGeneration& generation);

}  // namespace dedloc::membership
