// Why two peers do not link: one code, which both ends turn into one sentence.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc::net {

/// On the wire as its number: none is ever given to anything else.
enum class LinkRefusal : std::uint8_t {
    kNone = 0,
    kNotALink = 1,         ///< not what a peer's link begins with
    kOtherVersion = 2,     ///< no version of links that both speak
    kOtherEncryption = 3,  ///< one end encrypts and the other does not
    kChanged = 4,          ///< not sealed with this handshake's keys
    kNoTicket = 5,
    kOtherProject = 6,  ///< the ticket is not signed by the run's project
    kOtherRun = 7,
    kNotYetValid = 8,
    kExpired = 9,
    kRevoked = 10,
    kBadSignature = 11,  ///< does not hold the key that the ticket is for
    kMyself = 12,
    kOtherPeer = 13,  ///< not the peer that was dialled
    kHungUp = 14,
    kTooSlow = 15,
    kCrowded = 16,  ///< too many strangers at once
    kUnknown = 17,  ///< a code of a later version
};
inline constexpr LinkRefusal kLastLinkRefusal = LinkRefusal::kUnknown;

/// A code that a stranger has sent.
LinkRefusal refusal_of(std::uint8_t code);

/// What we say of a peer that we refuse: "its ticket has expired".
const char* describe(LinkRefusal refusal);
/// What we say of ourselves when it is our fault: "our ticket has expired".
const char* describe_own(LinkRefusal refusal);
/// What we say when a peer refuses us: "it refused us: our ticket has expired".
std::string describe_told(LinkRefusal refusal);

}  // namespace dedloc::net
