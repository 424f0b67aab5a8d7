// The ways in which a member of a swarm may break the protocol, one at a time, by the names that
// command lines give them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::hostile {

enum class Misbehaviour : std::uint8_t {
    kForgedPromise,       ///< acts as a voter: promises, elections, proposals, votes and commits
    kForgedHead,          ///< claims a head that is ahead, and offers forged states for it
    kOverclaimJoin,       ///< joins with more samples than its device can compute
    kOverclaimHeartbeat,  ///< reports samples and a rate beyond all bounds
    kDialStorm,           ///< sends plans that name strangers' endpoints; opens and closes links
    kNan,                 ///< joins as finite and sends NaN and infinite elements
    kExponent,            ///< fp16: one chunk with another exponent than joined; fp32: as kNan
    kSilentAfterJoin,     ///< joins and sends no chunk
    kGarbageAverage,      ///< as a reducer, sends finite garbage for averages
    kSlander,             ///< complains about honest members in every round
};
inline constexpr std::size_t kMisbehaviours = 10;

/// In the order of the enumeration.
inline constexpr std::array<const char*, kMisbehaviours> kMisbehaviourNames{
    "forged-promise",  "forged-head", "overclaim-join", "overclaim-heartbeat",
    "dial-storm",      "nan",         "exponent",       "silent-after-join",
    "garbage-average", "slander"};

inline const char* name_of(Misbehaviour misbehaviour) {
    return kMisbehaviourNames[static_cast<std::size_t>(misbehaviour)];
}
std::optional<Misbehaviour> misbehaviour_named(std::string_view name);
/// All names, for a help text: "forged-promise, forged-head, …".
std::string misbehaviour_names();

}  // namespace dedloc::hostile
