// Cheap checks come first: format, key, expiry, then the number in this minute. Only a ticket that
// passes them all has its signature verified, so a peer that floods us costs little CPU time.
#include "peer/net/session/link_ticket.hpp"

#include <utility>

namespace dedloc::net {

LinkRefusal LinkTicket::renew(std::span<const std::byte> shown, const SessionOptions& session,
                              formats::UtcSeconds now, const formats::Revocations& revoked) {
    const auto ticket = formats::decode_ticket(shown);
    if (!ticket) return LinkRefusal::kNoTicket;
    if (ticket->ticket.peer != last_.peer) return LinkRefusal::kBadSignature;
    if (ticket->ticket.expires <= last_.expires) return LinkRefusal::kNone;
    const auto minute = std::chrono::floor<std::chrono::minutes>(now);
    if (minute != std::exchange(minute_, minute)) in_minute_ = 0;
    if (++in_minute_ > kMaxAMinute) return LinkRefusal::kNone;
    const LinkRefusal refusal = judge(ticket, session, now, revoked);
    if (refusal == LinkRefusal::kNone) last_ = ticket->ticket;
    return refusal;
}

}  // namespace dedloc::net
