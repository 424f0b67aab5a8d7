// How long a link may stay open: until the last ticket that its other end has shown expires. A peer
// gets a new ticket long before that and shows it, so links do not end in the middle of a round.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "peer/formats/ticket.hpp"
#include "peer/net/session/handshake.hpp"
#include "peer/net/session/link_refusal.hpp"

namespace dedloc::net {

class LinkTicket {
  public:
    /// Honest peers show one each 5 minutes at most, and verifying one is 0.1 ms of a processor: so
    /// many are looked at in a minute, and others ignored as if they had not been sent.
    static constexpr unsigned kMaxAMinute = 6;

    /// What the handshake has proven.
    explicit LinkTicket(const formats::Ticket& proven) : last_(proven) {}

    /// The other end shows another one. kNone: it is the last one now, or ignored: one that does
    /// not expire later says nothing new (it may be shown twice, or come from another time), and
    /// ends nothing. Else why the link must end, by the handshake's own rules: the key is the one
    /// that is proven, the rest as judge() says. Untrusted input. Cost: a signature, of later
    /// tickets only.
    LinkRefusal renew(std::span<const std::byte> shown, const SessionOptions& session,
                      formats::UtcSeconds now, const formats::Revocations& revoked);

    const formats::Ticket& last() const { return last_; }

  private:
    formats::Ticket last_;
    std::chrono::sys_time<std::chrono::minutes> minute_{};
    unsigned in_minute_ = 0;
};

}  // namespace dedloc::net
