// A plan as a change of an earlier one. A plan of a thousand members is 60 kB, and an amendment
// leaves out one of them and moves its chunks: a few hundred bytes.
//
// What a member list says about a member never changes within a term, so a change names only the
// members that are left out. Ranges of the base that overlap no new range are kept. The digest of
// the whole new plan shows that both ends mean the same.
#pragma once

#include <optional>

#include "peer/wire/message.hpp"

namespace dedloc::wire {

/// Digest of every field of a plan.
Digest digest_of(const Plan& plan);

/// How `next` differs from `base`; nothing if the difference is more than a change can say: other
/// members, another vector, a reducer at another address. Cost: O(members + ranges).
std::optional<PlanChange> change_of(const Plan& base, const Plan& next);

/// The plan that the change makes of `base`. Nothing if `base` is not the plan that it changes, the
/// result is out of bounds, or its digest is another one. Untrusted input.
std::optional<Plan> applied(const Plan& base, const PlanChange& change);

}  // namespace dedloc::wire
