// The accounts, computers and keys that the project has revoked: the table dedloc_revocation.
#pragma once

#include <string>

#include "peer/formats/ticket.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Validity of a ticket, and so the time for which a revocation must be published.
inline constexpr std::chrono::hours kTicketLife{24};

/// Validity of a voter's ticket, which comes with its appointment.
inline constexpr std::chrono::hours kVoterTicketLife{24 * 400};

/// The revocations of tickets that may not have expired: voters dismissed in the last
/// kVoterTicketLife, then the others of the last kTicketLife; the newest kMaxRevocations of these.
/// Errors: DatabaseError.
formats::Revocations recent_revocations(Database& database, formats::UtcSeconds now);

/// Whether the ticket's account, computer or key is revoked. Errors: DatabaseError.
bool is_revoked(Database& database, const formats::Ticket& ticket);

/// Whether this account or this computer is revoked. Errors: DatabaseError.
bool is_revoked(Database& database, std::int64_t user, std::int64_t host);

/// Adds revocations, as of now. Errors: DatabaseError.
void revoke(Database& database, const formats::Revocations& revocations, formats::UtcSeconds now);
/// Revokes a voter's key, and publishes that for kVoterTicketLife. Errors: DatabaseError.
void revoke_voter(Database& database, const PeerKey& key, formats::UtcSeconds now);
/// Withdraws revocations: the gateway issues tickets to them again, and running peers accept them
/// after they have read the new list. Errors: DatabaseError.
void forgive(Database& database, const formats::Revocations& revocations);

}  // namespace dedloc::server
