// The ticket: the project's word that a peer may take part in a run, and for whose seat it works.
// Every link shows one at both ends. The gateway issues them; they are of one run and key, expire,
// and can be revoked by what they name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"

namespace dedloc::formats {

/// UTC by the clock of the machine, which a ticket is compared with.
using UtcSeconds = std::chrono::sys_seconds;

/// Whose result it is, in the project's database. A project's own peers have a seat of zeros.
struct Seat {
    std::uint64_t user = 0;
    std::uint64_t host = 0;
    std::uint64_t result = 0;
    bool operator==(const Seat&) const = default;
};

struct Ticket {
    RunId run;
    PeerKey peer;
    Seat seat;
    /// Upper bound of what the seat's device can train; 0: not known. A peer that claims more is
    /// refused, and no honest peer comes near it: the gateway computes it with a safety factor.
    std::uint64_t max_samples_per_second = 0;
    UtcSeconds issued;
    UtcSeconds expires;  ///< from this second on it is void
    bool operator==(const Ticket&) const = default;
};
/// What the project signs: every field, in the order of the struct, after a text of its own.
Digest digest_of(const Ticket& ticket);

struct SignedTicket {
    Ticket ticket;
    Signature signature{};  ///< of digest_of(ticket) by the project
    bool operator==(const SignedTicket&) const = default;
};

/// Requires the bounds of limits.hpp (DEDLOC_CHECK).
SignedTicket sign(const Ticket& ticket, const KeyPair& project);
[[nodiscard]] bool is_signed_by(const PeerKey& project, const SignedTicket& ticket);

/// kTicketBytes, always. Requires the bounds of limits.hpp (DEDLOC_CHECK).
Buffer encode(const SignedTicket& ticket);
/// Untrusted input: nothing for anything that encode() does not make. Does not ask who signed.
std::optional<SignedTicket> decode_ticket(std::span<const std::byte> bytes);

/// What the project had withdrawn at one moment before it expired: of two such lists the newer one
/// counts, and who is not on it is forgiven. A seat of zeros has no user and no host.
struct Revocations {
    UtcSeconds as_of{};
    std::set<std::uint64_t> users;
    std::set<std::uint64_t> hosts;
    std::set<PeerKey> peers;
    bool covers(const Ticket& ticket) const;
    std::size_t size() const { return users.size() + hosts.size() + peers.size(); }
    bool operator==(const Revocations&) const = default;
};
/// What the project signs: the moment and every entry, in order, after a text of its own.
Digest digest_of(const Revocations& revocations);

struct SignedRevocations {
    Revocations revocations;
    Signature signature{};  ///< of digest_of(revocations) by the project
    bool operator==(const SignedRevocations&) const = default;
};

/// Requires at most kMaxRevocations and a moment within the bounds of limits.hpp (DEDLOC_CHECK).
SignedRevocations sign(Revocations revocations, const KeyPair& project);
[[nodiscard]] bool is_signed_by(const PeerKey& project, const SignedRevocations& revocations);

/// At most kMaxRevocationsBytes. Requires at most kMaxRevocations (DEDLOC_CHECK).
Buffer encode(const SignedRevocations& revocations);
/// Untrusted input: nothing for anything that encode() does not make. Does not ask who signed.
std::optional<SignedRevocations> decode_revocations(std::span<const std::byte> bytes);

}  // namespace dedloc::formats
