// Which tickets extend an open link, which end it, and how many are verified.
#include <catch2/catch.hpp>
#include <chrono>

#include "peer/net/session/link_ticket.hpp"
#include "tests/peer/net/session/session_ends.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using tests::test_key;
using tests::test_ticket;

/// A ticket of peer 2 that expires `more` later than the one that has opened the link.
formats::Ticket longer_by(std::chrono::seconds more) {
    formats::Ticket ticket = test_ticket(2);
    ticket.expires += more;
    return ticket;
}

/// Peer 1's end of its link with peer 2.
struct Opened {
    LinkRefusal show(const formats::Ticket& shown, std::uint8_t signer = kProject) {
        return renew(formats::encode(formats::sign(shown, test_key(signer))));
    }
    LinkRefusal renew(std::span<const std::byte> bytes) {
        return held.renew(bytes, session, now, revoked);
    }

    const SessionOptions session = session_of(1);
    formats::UtcSeconds now = kNow;
    formats::Revocations revoked;
    LinkTicket held{test_ticket(2)};
};

TEST_CASE("a later ticket of the same peer renews a link, again and again", "[net]") {
    Opened link;
    for (int i = 1; i < 30; ++i) {
        link.now += 20min;
        const formats::Ticket next = longer_by(i * 20min);
        REQUIRE(link.show(next) == LinkRefusal::kNone);
        REQUIRE(link.held.last() == next);
    }
}

TEST_CASE("a ticket that expires no later, such as a replayed one, changes nothing", "[net]") {
    Opened link;
    const formats::Ticket last = longer_by(2h);
    REQUIRE(link.show(last) == LinkRefusal::kNone);
    for (const auto more : {0h, 1h, 2h}) {
        CHECK(link.show(longer_by(more)) == LinkRefusal::kNone);
        CHECK(link.held.last() == last);
    }
}

TEST_CASE("a ticket that a handshake would refuse ends the link and does not renew it", "[net]") {
    Opened link;
    formats::Ticket ticket = test_ticket(3);
    ticket.expires += 1h;
    CHECK(link.show(ticket) == LinkRefusal::kBadSignature);
    CHECK(link.show(longer_by(1h), 8) == LinkRefusal::kOtherProject);
    formats::SignedTicket changed = formats::sign(longer_by(1h), test_key(kProject));
    changed.ticket.expires += 1s;
    CHECK(link.renew(formats::encode(changed)) == LinkRefusal::kOtherProject);
    ticket = longer_by(1h);
    ticket.run.bytes[0] = std::byte{1};
    CHECK(link.show(ticket) == LinkRefusal::kOtherRun);
    CHECK(link.renew(Buffer(wire::kTicketBytes)) == LinkRefusal::kNoTicket);
    link.now += 1min;
    ticket = longer_by(1h);
    ticket.issued = link.now + 11min;
    CHECK(link.show(ticket) == LinkRefusal::kNotYetValid);
    link.revoked.hosts = {202};
    CHECK(link.show(longer_by(1h)) == LinkRefusal::kRevoked);
    link.revoked = {};
    link.now = test_ticket(2).expires + 10s;
    CHECK(link.show(longer_by(10s)) == LinkRefusal::kExpired);
    CHECK(link.held.last() == test_ticket(2));
}

TEST_CASE("only a few tickets per minute are verified", "[net]") {
    Opened link;
    for (unsigned minute = 1; minute <= 3; ++minute) {
        for (int i = 0; i < 1'000; ++i) {
            const auto seconds = 100'000 * std::chrono::seconds{minute} + std::chrono::seconds{i};
            REQUIRE(link.show(longer_by(seconds)) == LinkRefusal::kNone);
        }
        const auto last = 100'000s * minute + std::chrono::seconds{LinkTicket::kMaxAMinute - 1};
        CHECK(link.held.last() == longer_by(last));
        // The signature of the next ticket is not verified.
        CHECK(link.show(longer_by(1'000'000s), 8) == LinkRefusal::kNone);
        link.now += 1min;
    }
}

}  // namespace
}  // namespace dedloc::net
