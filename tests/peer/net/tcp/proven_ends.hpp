// Transports with sessions over real sockets, shared by their tests.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "peer/base/random.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/peer/net/session/session_ends.hpp"
#include "tests/peer/net/tcp/inbox.hpp"

namespace dedloc::net {

/// A ticket that is valid today, since transports use the machine's clock.
inline formats::Ticket ticket_of_today(std::uint8_t n) {
    formats::Ticket ticket = tests::test_ticket(n);
    ticket.issued = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) -
                    std::chrono::minutes{1};
    ticket.expires = ticket.issued + std::chrono::hours{1};
    return ticket;
}

inline TransportOptions options_of(std::uint8_t n, bool listens) {
    TransportOptions options;
    if (listens) options.listen = Endpoint{"127.0.0.1", 0};
    options.session = session_of(n);
    options.session->ticket = formats::sign(ticket_of_today(n), tests::test_key(kProject));
    return options;
}

struct End {
    explicit End(const TransportOptions& options) : transport(options, inbox.sink()) {}
    Endpoint endpoint() const { return {"127.0.0.1", transport.listening_port()}; }
    Inbox inbox;
    TcpTransport transport;
};

/// Two transports and a proven link between them; `here` has dialled.
struct ProvenPair {
    explicit ProvenPair(const TransportOptions& listening = options_of(1, true),
                        const TransportOptions& dialling = options_of(2, false))
        : there(listening), here(dialling) {
        here.transport.dial(there.endpoint());
        const auto dialled = here.inbox.next<event::LinkOpened>();
        const auto accepted = there.inbox.next<event::LinkOpened>();
        REQUIRE(dialled);
        REQUIRE(accepted);
        CHECK(dialled->proven == tests::test_key(1).public_key());
        CHECK(accepted->proven == tests::test_key(2).public_key());
        here_link = dialled->link;
        there_link = accepted->link;
    }
    struct Way {
        End& from;
        LinkId from_link;
        End& to;
    };
    Way way_there() { return {here, here_link, there}; }
    Way way_back() { return {there, there_link, here}; }

    End there;
    End here;
    LinkId here_link;
    LinkId there_link;
};

inline SharedBytes frame_of(std::size_t size, std::uint64_t seed) {
    Buffer bytes(size);
    Random random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return std::make_shared<const Buffer>(std::move(bytes));
}

}  // namespace dedloc::net
