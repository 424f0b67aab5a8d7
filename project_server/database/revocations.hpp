// The accounts, computers and keys that the project has banned, accounts that were deleted, and
// keys whose job has a newer one or is over: the table dedloc_revocation. A ban revokes the tickets
// of all of their peers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "peer/formats/ticket.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Validity of a ticket, and so the time for which a revocation must be published.
inline constexpr std::chrono::hours kTicketLife{24};

/// Validity of a voter's ticket, which comes with its appointment.
inline constexpr std::chrono::hours kVoterTicketLife{24 * 400};

/// The revocations of tickets that may not have expired: voters dismissed in the last
/// kVoterTicketLife, then what was banned in the last kTicketLife, then accounts that were deleted
/// in it; the newest of each, kMaxRevocations together.
/// Errors: DatabaseError.
formats::Revocations recent_revocations(Database& database, formats::UtcSeconds now);

/// The longest reason of a ban, in bytes.
inline constexpr std::size_t kMaxBanReason = 200;

/// A row of dedloc_revocation.
struct Ban {
    /// "user", "host", "key", "voter" (a dismissed voter's key), "replaced" (revoke_replaced()) or
    /// "ended" (revoke_ended()).
    std::string kind;
    std::string subject;     ///< BOINC's id, or the key in hex
    std::int64_t since = 0;  ///< UTC seconds
    std::string reason;      ///< the administrator's; empty: none was given
    bool operator==(const Ban&) const = default;
};
/// One sentence for the volunteer: who is banned, and why. "The project has banned this computer:
/// it sends invalid gradients."
std::string sentence_of(const Ban& ban);

/// The ban of the ticket's account, computer or key, the earliest if there are several; nothing:
/// none is banned. Errors: DatabaseError.
std::optional<Ban> ban_of(Database& database, const formats::Ticket& ticket);
/// The same for an account and a computer, whatever the key. 0: none.
std::optional<Ban> ban_of(Database& database, std::int64_t user, std::int64_t host);
/// All bans of a kind, the newest first; at most `limit`. Errors: DatabaseError.
std::vector<Ban> bans(Database& database, const std::string& kind, int limit);

/// Adds bans, as of now. What is banned already stays banned since then, and gets the new reason
/// unless that is empty; it has at most kMaxBanReason bytes. Errors: DatabaseError.
void revoke(Database& database, const formats::Revocations& revocations, formats::UtcSeconds now,
            const std::string& reason = {});
/// Revokes the tickets of an account that is being deleted, until the last of them expires. Does
/// nothing if none of them is valid now, so accounts that never trained cannot fill the list.
/// Errors: DatabaseError.
void revoke_deleted_account(Database& database, std::int64_t user, formats::UtcSeconds now);
/// Revokes all other keys of the ticket's job until their tickets expire: one process at a time
/// computes a job. Errors: DatabaseError.
void revoke_replaced(Database& database, const formats::Ticket& ticket);
/// Revokes the tickets of jobs that are over, but for the `keep` newest, until they expire: those
/// with this value in a column of dedloc_ticket. Errors: DatabaseError.
void revoke_ended(Database& database, const char* column, const Parameter& value,
                  std::uint64_t keep, formats::UtcSeconds now);
/// Revokes a voter's key, and publishes that for kVoterTicketLife. Errors: DatabaseError.
void revoke_voter(Database& database, const PeerKey& key, formats::UtcSeconds now);
/// Withdraws bans: the gateway issues tickets to them again, and running peers accept them after
/// they have read the new list. Returns how many there were. Errors: DatabaseError.
std::uint64_t forgive(Database& database, const formats::Revocations& revocations);

}  // namespace dedloc::server
