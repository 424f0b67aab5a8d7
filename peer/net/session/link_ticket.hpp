// The latest ticket of a link's other end: the link may stay open until it expires. A peer gets a
// new ticket long before that and shows it, so links do not end in the middle of a round.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "peer/formats/ticket.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/net/session/link_refusal.hpp"

namespace dedloc::net {

/// Judges the tickets that the other end shows on an open link.
class LinkTicket {
  public:
    /// Tickets verified per minute; more are ignored. An honest peer shows at most one in 5
    /// minutes, and verifying one costs 0.1 ms of CPU time.
    static constexpr unsigned kMaxAMinute = 6;

    /// `proven` is the ticket that the handshake has proven.
    explicit LinkTicket(const formats::Ticket& proven) : last_(proven) {}

    /// Takes a ticket that the other end shows. kNone: it replaces the last one, or it is ignored,
    /// since it does not expire later (peers may show a ticket twice) or exceeds kMaxAMinute. Any
    /// other value is the reason to end the link: the ticket must have the proven key and satisfy
    /// judge(). The input is untrusted. Cost: one signature check if the ticket expires later.
    LinkRefusal renew(std::span<const std::byte> shown, const SessionOptions& session,
                      formats::UtcSeconds now, const formats::Revocations& revoked);

    /// The ticket that counts now.
    const formats::Ticket& last() const { return last_; }

  private:
    formats::Ticket last_;
    std::chrono::sys_time<std::chrono::minutes> minute_{};
    unsigned in_minute_ = 0;
};

}  // namespace dedloc::net
