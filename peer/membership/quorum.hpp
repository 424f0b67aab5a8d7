// Who may decide. A round is decided by a quorum of the view before it: the members that stayed to
// the end of the last decided round. Any two quorums of one view have a member in common, so no two
// records of one round can both be decided, whatever the network does:
//
//   more than half of the view, or
//   exactly half of it, with its distinguished member: the backbone if it is in the view, else the
//   member with the lowest key.
//
// The second case is what lets a view of two go on when one of them leaves.
#pragma once

#include <span>

#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::membership {

/// Order     both ascending by key without repetition; anything else is no quorum
/// Returns   false also when a voter is not of the view, and for an empty view
/// Cost      one pass over both
bool is_quorum(std::span<const PeerKey> view, const PeerKey& backbone,
               std::span<const PeerKey> voters);

/// Whether `record` can come next after `head`: same generation, the round's step, chained to the
/// last record, members ascending by key, finite losses, samples that cannot overflow a sum, and
/// somebody who stays to decide about the round after it.
bool extends(const Head& head, const CommitRecord& record);

/// Whether `certificate` proves that `record` is decided as the record after `head`: it extends the
/// head, and a quorum of the head's view has signed it in the certificate's term.
///
/// Untrusted  both may be anything
/// Cost       one signature check a vote (0.06 ms), after everything cheaper has passed
bool is_certified(const RunId& run, const Head& head, const PeerKey& backbone,
                  const CommitRecord& record, const Certificate& certificate);

/// Where the history stands once `record` is decided.
Head head_after(const CommitRecord& record);

/// Where the history stands once a generation begins: its view is its backbone alone.
Head head_after(const RunId& run, const GenerationRecord& record);

/// Whether the project has signed this for this run.
bool is_signed(const RunId& run, const PeerKey& project, const SignedGeneration& generation);

}  // namespace dedloc::membership
