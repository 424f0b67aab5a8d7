// Renewal of tickets on open links, over real sockets.
#include <catch2/catch.hpp>
#include <chrono>

#include "peer/net/session/frame_codec.hpp"
#include "tests/peer/net/tcp/bare_socket.hpp"
#include "tests/peer/net/tcp/proven_ends.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using tests::test_key;

formats::UtcSeconds this_second() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

formats::SignedTicket ticket_until(std::uint8_t n, formats::UtcSeconds expires) {
    formats::Ticket ticket = ticket_of_today(n);
    ticket.expires = expires;
    return formats::sign(ticket, test_key(kProject));
}

TEST_CASE("a link outlives the tickets that opened it once both ends have shown new ones",
          "[net][timing]") {
    const bool encrypts = GENERATE(true, false);
    const formats::UtcSeconds first_end = this_second() + 3s;
    TransportOptions listening = options_of(1, true);
    TransportOptions dialling = options_of(2, false);
    listening.session->ticket = ticket_until(1, first_end);
    dialling.session->ticket = ticket_until(2, first_end);
    listening.session->encrypts = encrypts;
    dialling.session->encrypts = encrypts;
    ProvenPair pair(listening, dialling);
    pair.there.transport.present(ticket_until(1, first_end + 1h));
    pair.here.transport.present(ticket_until(2, first_end + 1h));
    // Tickets are checked once a second.
    while (this_second() < first_end + 2s) {
        for (ProvenPair::Way way : {pair.way_there(), pair.way_back()}) {
            way.from.transport.send(way.from_link, frame_of(100, 1));
            const auto frame = way.to.inbox.next<event::FrameReceived>();
            REQUIRE(frame);
            way.to.transport.taken(frame->link);
        }
        CHECK_FALSE(pair.here.inbox.next<event::LinkClosed>(50ms));
    }
    CHECK(pair.there.inbox.waiting<event::LinkClosed>() == 0);
}

/// A peer with a ticket that sends the frames that a test gives it.
class Insider {
  public:
    explicit Insider(std::uint16_t port) : socket_(port), message_(handshake_.begin()) {}

    /// Exchanges the Hellos.
    void greet() { exchange(); }
    void prove() {
        while (!handshake_.is_proven()) exchange();
        socket_.write(message_);
        codec_ = make_sealed_codec(handshake_.proven().keys(), 1 << 20);
    }
    void show(const Buffer& ticket) {
        codec_.encoder->add({{kFrameMagic, FrameKind::kTicket, wire::kTicketBytes, 0},
                             std::make_shared<const Buffer>(ticket)});
        while (!codec_.encoder->is_empty()) {
            const auto piece = codec_.encoder->next()[0];
            socket_.write(piece);
            (void)codec_.encoder->written(piece.size());
        }
    }
    /// The next frame of this kind; nothing if the link ends first.
    std::optional<std::pair<FrameHeader, SharedBytes>> next(FrameKind kind) {
        std::optional<std::pair<FrameHeader, SharedBytes>> found;
        while (!found) {
            const auto place = codec_.decoder->next()[0];
            const auto bytes = socket_.read(place.size());
            if (!bytes) return {};
            std::ranges::copy(*bytes, place.begin());
            const auto deliver = [&](const FrameHeader& header, const SharedBytes& body) {
                if (header.kind == kind) found.emplace(header, body);
            };
            if (!codec_.decoder->read(place.size(), deliver)) return {};
        }
        return found;
    }
    LinkRefusal farewell() {
        const auto goodbye = next(FrameKind::kGoodbye);
        return goodbye ? static_cast<LinkRefusal>(goodbye->first.detail) : LinkRefusal::kHungUp;
    }

  private:
    void exchange() {
        socket_.write(message_);
        const auto answer = socket_.read(handshake_.wants());
        REQUIRE(answer);
        message_ = handshake_.take(*answer, this_second(), {});
    }

    const SessionOptions session_ = *options_of(2, false).session;
    BareSocket socket_;
    Handshake handshake_{session_, Side::kDialler};
    Buffer message_;
    FrameCodec codec_;
};

TEST_CASE("a ticket that is renewed during a handshake is shown on the link", "[net]") {
    End listener(options_of(1, true));
    Insider insider(listener.transport.listening_port());
    insider.greet();
    const auto renewed = ticket_until(1, this_second() + 2h);
    // The handshake goes on with the old ticket.
    listener.transport.present(renewed);
    insider.prove();
    const auto shown = insider.next(FrameKind::kTicket);
    REQUIRE(shown);
    CHECK(*shown->second == formats::encode(renewed));
}

TEST_CASE("a bad ticket ends its link, and both ends get the reason", "[net]") {
    TransportOptions options = options_of(1, true);
    options.limits.farewell = 100ms;
    End listener(options);
    const auto refusal_of = [&](const Buffer& shown) {
        Insider insider(listener.transport.listening_port());
        insider.prove();
        REQUIRE(listener.inbox.next<event::LinkOpened>());
        insider.show(shown);
        const LinkRefusal told = insider.farewell();
        const auto closed = listener.inbox.next<event::LinkClosed>();
        REQUIRE(closed);
        CHECK(closed->why == describe(told));
        return told;
    };
    const formats::UtcSeconds later = this_second() + 2h;
    CHECK(refusal_of(formats::encode(ticket_until(3, later))) == LinkRefusal::kBadSignature);
    CHECK(refusal_of(Buffer(wire::kTicketBytes)) == LinkRefusal::kNoTicket);
    formats::Ticket ticket = ticket_of_today(2);
    ticket.expires = later;
    CHECK(refusal_of(formats::encode(formats::sign(ticket, test_key(8)))) ==
          LinkRefusal::kOtherProject);
    ticket.run.bytes[0] = std::byte{1};
    CHECK(refusal_of(formats::encode(formats::sign(ticket, test_key(kProject)))) ==
          LinkRefusal::kOtherRun);
}

TEST_CASE("a revoked peer cannot renew its link", "[net]") {
    End listener(options_of(1, true));
    Insider insider(listener.transport.listening_port());
    insider.prove();
    REQUIRE(listener.inbox.next<event::LinkOpened>());
    listener.transport.revoke({.users = {}, .hosts = {999}, .peers = {}});
    formats::Ticket ticket = ticket_of_today(2);
    ticket.expires += 1h;
    ticket.job.host = 999;
    insider.show(formats::encode(formats::sign(ticket, test_key(kProject))));
    CHECK(insider.farewell() == LinkRefusal::kRevoked);
}

TEST_CASE("a ticket on a link without proofs ends the link", "[net]") {
    TransportOptions options;
    options.listen = Endpoint{"127.0.0.1", 0};
    options.limits.farewell = 100ms;
    End listener(options);
    const BareSocket socket(listener.transport.listening_port());
    REQUIRE(listener.inbox.next<event::LinkOpened>());
    const FrameHeader header{kFrameMagic, FrameKind::kTicket, wire::kTicketBytes, 0};
    socket.write(&header, sizeof header);
    socket.write(formats::encode(ticket_until(2, this_second() + 1h)));
    const auto closed = listener.inbox.next<event::LinkClosed>();
    REQUIRE(closed);
    CHECK(closed->why == describe(LinkRefusal::kNotALink));
}

}  // namespace
}  // namespace dedloc::net
