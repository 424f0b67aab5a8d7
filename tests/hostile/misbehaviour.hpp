// The ways in which a test's hostile member breaks the protocol, and their names on command lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::hostile {

/// What a hostile member does wrong; one of them at a time.
enum class Misbehaviour : std::uint8_t {
    kForgedPromise,       ///< acts as a voter: promises, elections, proposals, votes and commits
    kForgedHead,          ///< claims a head ahead of the swarm's and offers forged states for it
    kOverclaimJoin,       ///< joins with more samples than its device can compute
    kOverclaimHeartbeat,  ///< reports 2^20 samples and the highest possible rate
    kDialStorm,           ///< sends plans with endpoints of strangers; opens and closes links
    kNan,                 ///< joins as finite and sends NaN and infinite elements;
                          ///< int8: like kExponent
    kExponent,            ///< fp16, int8: sends chunks with a larger exponent than it joined with;
                          ///< fp32, bf16: like kNan
    kSilentAfterJoin,     ///< joins and sends no chunk
    kGarbageAverage,      ///< as a reducer, sends finite garbage instead of averages
    kSlander,             ///< complains about all other members in every round
    kWhisper,             ///< complains about one other member in every round, in turn
    kNeverReady,          ///< never says that it has the average
    kLateReady,           ///< says that it has the average seconds after it has it
    kRepeatedQueries,     ///< asks every member again and again for slices, plans, states,
                          ///< averages, leaves and commits
    kClosedWindow,        ///< acknowledges no byte: its senders' windows stay full
    kSplitAverage,        ///< as a reducer, sends each member but the coordinator another average,
                          ///< and is ready with one that all such members forge alike
    kLoneReady,           ///< joins, sends no chunk that counts but keeps sending, and is ready at
                          ///< once with a forged average
    kDrip,                ///< joins, and sends no chunk that counts but keeps sending
    kNanAverage,          ///< as a reducer, sends averages that are not finite; int8: none
    kPurge,               ///< complains at once that no other member but the coordinator sends
    kHelloStorm,          ///< introduces itself again and again on each link
    kFalseVotes,          ///< sends certificates in which voters' signatures are false
    kSlowClaim,           ///< joins with a link of a byte a second, and never says that it is ready
    kFalseProposal,       ///< as a coordinator, proposes a forged average, and commits it with one
                          ///< vote beside its own
    kEarlyFlood,          ///< sends chunks of sums that do not exist, as many as its links take
    kHeartbeatStorm,      ///< the same with heartbeats, each of which follows another term
    kKeySquat,            ///< takes a seat as a trainer that has no state and no samples
    kEquivocation,        ///< as a reducer, sends each member an average with other last bits
    kNegativeGradient,    ///< contributes −10 times its gradient
    kGhostSamples,        ///< contributes zeros, as the gradient of nearly all samples that its
                          ///< ticket allows
    kPulse,               ///< in one round of four, sends no chunk
    kTrickle,             ///< in one round of four, sends each peer one chunk in three seconds; in
                          ///< one of eight all but the coordinator
    kLateJoin,            ///< joins nine seconds after it is called
    kNoShow,              ///< does not join one round of four to which it is called
    kHangUp,              ///< joins, sends no chunk, hangs up before that counts as a stall, and
                          ///< links again
};
/// Number of misbehaviours.
inline constexpr std::size_t kMisbehaviours = 35;

/// Their names, in the order of the enumeration.
inline constexpr std::array<const char*, kMisbehaviours> kMisbehaviourNames{
    "forged-promise",
    "forged-head",
    "overclaim-join",
    "overclaim-heartbeat",
    "dial-storm",
    "nan",
    "exponent",
    "silent-after-join",
    "garbage-average",
    "slander",
    "whisper",
    "never-ready",
    "late-ready",
    "repeated-queries",
    "closed-window",
    "split-average",
    "lone-ready",
    "drip",
    "nan-average",
    "purge",
    "hello-storm",
    "false-votes",
    "slow-claim",
    "false-proposal",
    "early-flood",
    "heartbeat-storm",
    "key-squat",
    "equivocation",
    "negative-gradient",
    "ghost-samples",
    "pulse",
    "trickle",
    "late-join",
    "no-show",
    "hang-up",
};

/// The name of one.
inline const char* name_of(Misbehaviour misbehaviour) {
    return kMisbehaviourNames[static_cast<std::size_t>(misbehaviour)];
}
/// The misbehaviour with this name; nothing if there is none.
std::optional<Misbehaviour> misbehaviour_named(std::string_view name);

}  // namespace dedloc::hostile
