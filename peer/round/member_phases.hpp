// What a member knows in each phase, and of a round. Both are values: a phase goes when the next
// one begins, a round when it is decided or cancelled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "peer/round/arrival_times.hpp"
#include "peer/round/reduction.hpp"
#include "peer/wire/message.hpp"

namespace dedloc::round {

/// The member lacks the head's state, and waits until it is fetched.
struct Idle {};

/// The trainer computes on the head's state.
struct Working {};

/// The trainer finishes its micro-batch.
struct Freezing {
    Term term;  ///< the Call's; zero: held without a coordinator, or cancelled
};

/// Has a contribution, possibly an empty one, and waits for a plan or a Call.
struct Frozen {
    Term term;  ///< the Call's; zero: held without a coordinator, or cancelled
};

/// Follows a plan: sends, receives and averages chunks.
struct Reducing {
    Term term;                      ///< the plan's
    TimePoint stall_at = kNever;    ///< next look for missing members
    bool has_told_reduced = false;  ///< the coordinator knows that the chunks here are averaged
    std::vector<std::uint32_t> told_refused{};  ///< senders that it knows to be refused here
};

/// Has the whole average and waits for the decision.
struct Ready {};

/// The trainer applies the average.
struct Applying {};

/// The phase of a member.
using MemberPhase = std::variant<Idle, Working, Freezing, Frozen, Reducing, Ready, Applying>;

/// A complete average.
struct HeldAverage {
    SharedFloats values;       ///< null: none
    Digest digest;             ///< their digest
    std::uint64_t sum_id = 0;  ///< the sum that it is of
    Term term;                 ///< term of the first plan under which it was complete
};

/// What a member holds of a round that is not decided, in whatever phase.
struct MemberRound {
    std::optional<Reduction> reduction{};  ///< begins with the first plan or chunk
    std::optional<wire::Plan> plan{};      ///< the newest one, also one without this member
    HeldAverage average{};                 ///< the newest complete average
    /// The average before it, of an earlier term. That term's coordinator may have voted for it
    /// and told no peer yet. When it comes back it proposes that record, and members need it then.
    HeldAverage former{};
    ArrivalTimes arrivals{};  ///< when chunks have come
    /// Frames of averages, by sum, chunk and kind of link: all receivers get the same ones.
    std::map<std::tuple<std::uint64_t, std::uint32_t, wire::LinkKind>, Frame> sealed{};
};

}  // namespace dedloc::round
