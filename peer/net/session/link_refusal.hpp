// Reasons why a link is not opened or is ended: a code on the wire, and its sentence for the log.
#pragma once

#include <cstdint>
#include <string>

namespace dedloc::net {

/// The number is the code on the wire: a number is never given another meaning.
enum class LinkRefusal : std::uint8_t {
    kNone = 0,             ///< not refused
    kNotALink = 1,         ///< the bytes are not this protocol
    kOtherVersion = 2,     ///< the two ends have no version in common
    kOtherEncryption = 3,  ///< one end encrypts and the other does not
    kChanged = 4,          ///< not sealed with this handshake's keys
    kNoTicket = 5,         ///< no ticket, or one that cannot be decoded
    kOtherProject = 6,     ///< the ticket is not signed by the run's project
    kOtherRun = 7,         ///< the ticket is for another run
    kNotYetValid = 8,      ///< the ticket begins in the future
    kExpired = 9,          ///< the ticket has expired
    kRevoked = 10,         ///< the project has revoked the ticket
    kBadSignature = 11,    ///< it does not hold the key that the ticket is for
    kMyself = 12,          ///< the other end is this peer
    kOtherPeer = 13,       ///< another peer than the expected one
    kHungUp = 14,          ///< the connection ended during the handshake
    kTooSlow = 15,         ///< the handshake exceeded its deadline
    kCrowded = 16,         ///< evicted: too many pending links at once
    kFull = 17,            ///< it has as many links as it may have
    kNoSuchLink = 18,      ///< it attaches a connection to a link that is not there
    kFlowsTaken = 19,      ///< the link has as many connections as it may have
    kTooOften = 20,        ///< it has opened too many links in a short time
    kUnknown = 21,         ///< a code of a later version
};
/// The highest known code.
inline constexpr LinkRefusal kLastLinkRefusal = LinkRefusal::kUnknown;

/// Decodes an untrusted code; kUnknown for 0 and for codes that are not known.
LinkRefusal refusal_of(std::uint8_t code);

/// Describes a peer that we refuse: "its ticket has expired".
const char* describe(LinkRefusal refusal);
/// Describes our own fault: "our ticket has expired".
const char* describe_own(LinkRefusal refusal);
/// Describes a refusal by the other end: "it refused us: our ticket has expired".
std::string describe_told(LinkRefusal refusal);

}  // namespace dedloc::net
