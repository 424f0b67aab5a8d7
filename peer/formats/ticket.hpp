// The ticket: the project's signed permission for one key to take part in one run, with the BOINC
// job that the peer works for. Both ends of a link show one. The gateway issues tickets.
// They expire, and the project can revoke them by user, host or key.
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

/// UTC by the clock of the machine, to compare with the times of a ticket.
using UtcSeconds = std::chrono::sys_seconds;

/// The BOINC job of a peer, as row ids of the project's database. The project's own peers have
/// zeros.
struct Job {
    std::uint64_t user = 0;    ///< the volunteer
    std::uint64_t host = 0;    ///< the volunteer's machine
    std::uint64_t result = 0;  ///< the job
    bool operator==(const Job&) const = default;
};

/// The fields of a ticket.
struct Ticket {
    RunId run;     ///< the run that the peer may take part in
    PeerKey peer;  ///< the key that the ticket is for
    Job job;       ///< the job that the peer works for
    /// Upper bound for the training speed of the job's device; 0: not known. Coordinators refuse
    /// larger claims. The gateway computes it with a safety factor, so honest peers stay far below.
    std::uint64_t max_samples_per_second = 0;
    UtcSeconds issued;   ///< valid from this second on, apart from kClockErrorSeconds
    UtcSeconds expires;  ///< void from this second on
    bool operator==(const Ticket&) const = default;
};
/// What the project signs: every field in the order of the struct, after a preamble of its own.
Digest digest_of(const Ticket& ticket);

/// A ticket as peers show it.
struct SignedTicket {
    Ticket ticket;          ///< what is signed
    Signature signature{};  ///< that of a key in TicketSigners, over digest_of(ticket)
    bool operator==(const SignedTicket&) const = default;
};

/// The keys that sign the tickets of a run. Everything else that the project signs is signed with
/// its own key only.
struct TicketSigners {
    PeerKey project;                 ///< the project's key: voters' tickets, and any other
    std::optional<PeerKey> gateway;  ///< RunFile::ticket_key: the tickets that the gateway issues
};

/// Signs a ticket. Requires the bounds of limits.hpp (DEDLOC_CHECK).
SignedTicket sign(const Ticket& ticket, const KeyPair& signer);
/// Whether one of these keys has signed the ticket. Checks neither run nor times.
[[nodiscard]] bool is_signed_by(const TicketSigners& signers, const SignedTicket& ticket);
/// Whether this key has signed the ticket. Checks neither run nor times.
[[nodiscard]] bool is_signed_by(const PeerKey& signer, const SignedTicket& ticket);

/// The ticket as kTicketBytes bytes. Requires the bounds of limits.hpp (DEDLOC_CHECK).
Buffer encode(const SignedTicket& ticket);
/// The ticket in these bytes. Untrusted input: nothing for bytes that encode() cannot produce. Does
/// not verify the signature.
std::optional<SignedTicket> decode_ticket(std::span<const std::byte> bytes);

/// The complete list of revocations at one moment: a newer list replaces an older one, so an entry
/// that is missing from it is no longer revoked.
struct Revocations {
    UtcSeconds as_of{};             ///< the moment
    std::set<std::uint64_t> users;  ///< Job::user of revoked tickets
    std::set<std::uint64_t> hosts;  ///< Job::host of revoked tickets
    std::set<PeerKey> peers;        ///< Ticket::peer of revoked tickets
    /// Whether the ticket is revoked. User 0 and host 0, as in jobs of zeros, are never revoked.
    bool covers(const Ticket& ticket) const;
    /// Number of entries.
    std::size_t size() const { return users.size() + hosts.size() + peers.size(); }
    bool operator==(const Revocations&) const = default;
};
/// What the project signs: the moment and every entry, in order, after a preamble of its own.
Digest digest_of(const Revocations& revocations);

/// A list as the gateway hands it out.
struct SignedRevocations {
    Revocations revocations;  ///< what is signed
    Signature signature{};    ///< the project's, over digest_of(revocations)
    bool operator==(const SignedRevocations&) const = default;
};

/// Signs a list. Requires at most kMaxRevocations entries and a moment within the bounds of
/// limits.hpp (DEDLOC_CHECK).
SignedRevocations sign(Revocations revocations, const KeyPair& project);
/// Whether this key has signed the list.
[[nodiscard]] bool is_signed_by(const PeerKey& project, const SignedRevocations& revocations);

/// The list as at most kMaxRevocationsBytes. Requires the same as sign() (DEDLOC_CHECK).
Buffer encode(const SignedRevocations& revocations);
/// The list in these bytes. Untrusted input: nothing for bytes that encode() cannot produce. Does
/// not verify the signature.
std::optional<SignedRevocations> decode_revocations(std::span<const std::byte> bytes);

}  // namespace dedloc::formats
