// Whom the project wants no more: the table dedloc_revocation.
#pragma once

#include <string>

#include "peer/formats/ticket.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// How long a ticket is good, and so how long a revocation has to be told.
inline constexpr std::chrono::hours kTicketLife{24};

/// The same of a voter's ticket, which comes with its appointment.
inline constexpr std::chrono::hours kVoterTicketLife{24 * 400};

/// The revocations of tickets that have not expired: voters that were dismissed in the last
/// kVoterTicketLife, then others of the last kTicketLife, the newest kMaxRevocations of them.
/// Errors: DatabaseError.
formats::Revocations recent_revocations(Database& database, formats::UtcSeconds now);

/// Whether the project wants whom the ticket names. Errors: DatabaseError.
bool is_revoked(Database& database, const formats::Ticket& ticket);

/// Adds, as of now. Errors: DatabaseError.
void revoke(Database& database, const formats::Revocations& revocations, formats::UtcSeconds now);
/// The same of a voter's key, for as long as its ticket is good. Errors: DatabaseError.
void revoke_voter(Database& database, const PeerKey& key, formats::UtcSeconds now);
/// Takes back: there are new tickets for them, and running peers let them in once they hear of it.
/// Errors: DatabaseError.
void forgive(Database& database, const formats::Revocations& revocations);

}  // namespace dedloc::server
