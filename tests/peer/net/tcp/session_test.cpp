// Links with sessions over real sockets: honest ends, attackers, and ends that stay silent.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/net/session/frame_codec.hpp"
#include "tests/peer/net/tcp/bare_socket.hpp"
#include "tests/peer/net/tcp/descriptors_of.hpp"
#include "tests/peer/net/tcp/proven_ends.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using tests::test_key;

/// True if Nagle's algorithm delays small data until earlier data is acknowledged.
bool holds_small_data_back(int descriptor) {
    int sends_at_once = 0;
    socklen_t size = sizeof sends_at_once;
    REQUIRE(getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &sends_at_once, &size) == 0);
    return sends_at_once == 0;
}

TEST_CASE("a link opens with the keys that both ends have proven, and carries frames", "[net]") {
    const bool encrypts = GENERATE(true, false);
    TransportOptions listening = options_of(1, true);
    TransportOptions dialling = options_of(2, false);
    listening.session->encrypts = encrypts;
    dialling.session->encrypts = encrypts;
    ProvenPair pair(listening, dialling);
    const std::vector<std::size_t> sizes{0, 1, 100, 256U << 10, (256U << 10) + 1, 1'000'000, 7};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        pair.here.transport.send(pair.here_link, frame_of(sizes[i], i));
        pair.there.transport.send(pair.there_link, frame_of(sizes[i], 100 + i));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto to_there = pair.there.inbox.next<event::FrameReceived>();
        const auto to_here = pair.here.inbox.next<event::FrameReceived>();
        REQUIRE(to_there);
        REQUIRE(to_here);
        CHECK(*to_there->frame == *frame_of(sizes[i], i));
        CHECK(*to_here->frame == *frame_of(sizes[i], 100 + i));
        pair.there.transport.taken(to_there->link);
        pair.here.transport.taken(to_here->link);
        REQUIRE(pair.here.inbox.next<event::FrameWritten>());
        REQUIRE(pair.there.inbox.next<event::FrameWritten>());
    }
}

TEST_CASE("neither end of a link delays small frames while others are in flight", "[net]") {
    ProvenPair pair;
    const auto ends = descriptors_of(pair.there.transport.listening_port(), true);
    REQUIRE(ends.size() == 2);
    for (const int end : ends) CHECK_FALSE(holds_small_data_back(end));
}

TEST_CASE("a child process inherits neither links nor the listening port", "[net]") {
    ProvenPair pair;
    const std::uint16_t port = pair.there.transport.listening_port();
    std::vector<int> descriptors = descriptors_of(port, true);
    for (const int listener : descriptors_of(port, false)) descriptors.push_back(listener);
    REQUIRE(descriptors.size() == 3);
    for (const int descriptor : descriptors) CHECK(fcntl(descriptor, F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("a polite close delivers what was sent before it over a sealed link", "[net]") {
    ProvenPair pair;
    for (std::uint64_t i = 0; i < 20; ++i) {
        pair.here.transport.send(pair.here_link, frame_of(200'000, i));
    }
    pair.here.transport.close(pair.here_link);
    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto frame = pair.there.inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        CHECK(*frame->frame == *frame_of(200'000, i));
        pair.there.transport.taken(frame->link);
    }
    const auto closed = pair.there.inbox.next<event::LinkClosed>();
    REQUIRE(closed);
    CHECK(closed->why.empty());
    CHECK(pair.here.inbox.next<event::LinkClosed>());
}

TEST_CASE("one frame goes to eight sealed links at once", "[net]") {
    End hub(options_of(1, true));
    std::vector<std::unique_ptr<End>> spokes;
    for (std::uint8_t n = 2; n < 10; ++n) {
        spokes.push_back(
            std::make_unique<End>(options_of(static_cast<std::uint8_t>(n + 20), false)));
        spokes.back()->transport.dial(hub.endpoint());
        REQUIRE(hub.inbox.next<event::LinkOpened>(kTimeout, [&](const event::LinkOpened& opened) {
            hub.transport.send(opened.link, frame_of(1'000'000, 1));
            return true;
        }));
    }
    for (const auto& spoke : spokes) {
        const auto frame = spoke->inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        CHECK(*frame->frame == *frame_of(1'000'000, 1));
    }
}

TEST_CASE("an opened link has the user and the training speed of its other end's ticket", "[net]") {
    TransportOptions own = options_of(3, false);
    formats::Ticket ticket = ticket_of_today(3);
    ticket.job = {};  // like the project's own peers
    ticket.max_samples_per_second = 0;
    own.session->ticket = formats::sign(ticket, tests::test_key(kProject));
    End listener(options_of(1, true));
    const auto seen = [&](const TransportOptions& options) {
        End dialler(options);
        dialler.transport.dial(listener.endpoint());
        const auto at_dialler = dialler.inbox.next<event::LinkOpened>();
        const auto at_listener = listener.inbox.next<event::LinkOpened>();
        REQUIRE(at_dialler);
        REQUIRE(at_listener);
        CHECK(at_dialler->user == tests::test_ticket(1).job.user);
        CHECK(at_dialler->max_samples_per_second == tests::test_ticket(1).max_samples_per_second);
        return *at_listener;
    };
    const event::LinkOpened volunteer = seen(options_of(2, false));
    CHECK(volunteer.user == tests::test_ticket(2).job.user);
    CHECK(volunteer.max_samples_per_second == tests::test_ticket(2).max_samples_per_second);
    const event::LinkOpened project = seen(own);
    CHECK(project.proven == ticket.peer);
    CHECK(project.user == 0);
    CHECK(project.max_samples_per_second == 0);
}

TEST_CASE("a dial that is refused fails with the reason, and opens no link at either end",
          "[net]") {
    End listener(options_of(1, true));
    const auto why = [&](const TransportOptions& options) {
        End dialler(options);
        dialler.transport.dial(listener.endpoint());
        const auto failed = dialler.inbox.next<event::DialFailed>();
        REQUIRE(failed);
        CHECK(failed->remote == listener.endpoint());
        CHECK(failed->is_self == (failed->why == describe(LinkRefusal::kMyself)));
        CHECK(dialler.inbox.waiting<event::LinkOpened>() == 0);
        return failed->why;
    };
    TransportOptions options = options_of(2, false);
    options.session->ticket.reset();
    CHECK(why(options) == describe_told(LinkRefusal::kNoTicket));
    formats::Ticket ticket = ticket_of_today(2);
    ticket.issued -= 2h;
    ticket.expires -= 2h;
    options.session->ticket = formats::sign(ticket, test_key(kProject));
    CHECK(why(options) == describe_told(LinkRefusal::kExpired));
    options = options_of(2, false);
    options.session->ticket = formats::sign(ticket_of_today(2), test_key(8));
    CHECK(why(options) == describe_told(LinkRefusal::kOtherProject));
    options = options_of(2, false);
    options.session->project = test_key(8).public_key();
    CHECK(why(options) == describe(LinkRefusal::kOtherProject));
    options = options_of(2, false);
    options.session->encrypts = false;
    CHECK(why(options) == describe(LinkRefusal::kOtherEncryption));
    CHECK(why(options_of(1, false)) == describe(LinkRefusal::kMyself));
    CHECK(listener.inbox.waiting<event::LinkOpened>() == 0);
}

TEST_CASE("a dial with an expected key links only with the peer of that key", "[net]") {
    End listener(options_of(1, true));
    End dialler(options_of(2, false));
    dialler.transport.dial(listener.endpoint(), test_key(3).public_key());
    const auto failed = dialler.inbox.next<event::DialFailed>();
    REQUIRE(failed);
    CHECK(failed->why == describe(LinkRefusal::kOtherPeer));
    dialler.transport.dial(listener.endpoint(), test_key(1).public_key());
    CHECK(dialler.inbox.next<event::LinkOpened>());
}

TEST_CASE("a peer is told that the other end has no place for a link, and links later", "[net]") {
    TransportOptions options = options_of(1, true);
    options.max_links = 1;
    ProvenPair pair{options};
    End other{options_of(3, false)};
    other.transport.dial(pair.there.endpoint());
    const auto refused = other.inbox.next<event::DialFailed>();
    REQUIRE(refused);
    CHECK(refused->why == "it refused us: it has as many links as it may have");
    CHECK(pair.there.inbox.waiting<event::LinkOpened>() == 0);
    pair.here.transport.close(pair.here_link);
    REQUIRE(pair.there.inbox.next<event::LinkClosed>());
    other.transport.dial(pair.there.endpoint());
    CHECK(other.inbox.next<event::LinkOpened>());
}

TEST_CASE("a peer that opens link after link is refused, whatever became of them", "[net]") {
    constexpr int kLinks = 3;
    TransportOptions options = options_of(1, true);
    options.opens_of_one = {.per_second = 0, .burst = kLinks};
    End there{options};
    End here{options_of(2, false)};
    for (int i = 0; i < kLinks; ++i) {
        here.transport.dial(there.endpoint());
        const auto opened = here.inbox.next<event::LinkOpened>();
        REQUIRE(opened);
        here.transport.close(opened->link);
        REQUIRE(there.inbox.next<event::LinkClosed>());
    }
    CHECK(there.inbox.waiting<event::LinkOpened>() == kLinks);
    here.transport.dial(there.endpoint());
    const auto refused = here.inbox.next<event::DialFailed>();
    REQUIRE(refused);
    CHECK(refused->why == "it refused us: we open links too often");
    CHECK(there.inbox.waiting<event::LinkOpened>() == kLinks);
    // The rate is that of a key, not of an address.
    End other{options_of(3, false)};
    other.transport.dial(there.endpoint());
    CHECK(other.inbox.next<event::LinkOpened>());
    // It may still be dialled.
    End listening{options_of(2, true)};
    there.transport.dial(listening.endpoint());
    CHECK(listening.inbox.next<event::LinkOpened>());
}

TEST_CASE("a revoked peer loses its links with the reason, and gets no new one", "[net]") {
    ProvenPair pair;
    End bystander(options_of(3, false));
    bystander.transport.dial(pair.there.endpoint());
    REQUIRE(bystander.inbox.next<event::LinkOpened>());
    pair.there.transport.revoke({.users = {}, .hosts = {202}, .peers = {}});
    const auto there = pair.there.inbox.next<event::LinkClosed>();
    const auto here = pair.here.inbox.next<event::LinkClosed>();
    REQUIRE(there);
    REQUIRE(here);
    CHECK(there->link == pair.there_link);
    CHECK(there->why == describe(LinkRefusal::kRevoked));
    CHECK(here->why == describe_told(LinkRefusal::kRevoked));
    pair.here.transport.dial(pair.there.endpoint());
    const auto failed = pair.here.inbox.next<event::DialFailed>();
    REQUIRE(failed);
    CHECK(failed->why == describe_told(LinkRefusal::kRevoked));
    CHECK(bystander.inbox.waiting<event::LinkClosed>() == 0);
}

TEST_CASE("only the newest list of revocations counts", "[net]") {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const formats::Revocations some{.as_of = now, .users = {}, .hosts = {202}, .peers = {}};
    End listener(options_of(1, true));
    End dialler(options_of(2, false));
    const auto refusal = [&] {
        dialler.transport.dial(listener.endpoint());
        const auto failed = dialler.inbox.next<event::DialFailed>();
        return failed ? failed->why : "";
    };
    listener.transport.revoke(some);
    CHECK(refusal() == describe_told(LinkRefusal::kRevoked));
    listener.transport.revoke({.as_of = now - 1s, .users = {}, .hosts = {}, .peers = {}});
    CHECK(refusal() == describe_told(LinkRefusal::kRevoked));
    listener.transport.revoke({.as_of = now, .users = {}, .hosts = {}, .peers = {}});
    dialler.transport.dial(listener.endpoint());
    CHECK(dialler.inbox.next<event::LinkOpened>());
}

TEST_CASE("a link ends when the ticket that opened it expires, and a new ticket opens the next",
          "[net][timing]") {
    TransportOptions options = options_of(2, false);
    formats::Ticket ticket = ticket_of_today(2);
    ticket.expires = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) + 1s;
    options.session->ticket = formats::sign(ticket, test_key(kProject));
    ProvenPair pair(options_of(1, true), options);
    const auto there = pair.there.inbox.next<event::LinkClosed>();
    REQUIRE(there);
    CHECK(there->why == describe(LinkRefusal::kExpired));
    const auto here = pair.here.inbox.next<event::LinkClosed>();
    REQUIRE(here);
    CHECK(here->why == describe_told(LinkRefusal::kExpired));
    pair.here.transport.dial(pair.there.endpoint());
    const auto failed = pair.here.inbox.next<event::DialFailed>();
    REQUIRE(failed);
    CHECK(failed->why == describe_told(LinkRefusal::kExpired));
    pair.here.transport.present(formats::sign(ticket_of_today(2), test_key(kProject)));
    pair.here.transport.dial(pair.there.endpoint());
    CHECK(pair.here.inbox.next<event::LinkOpened>());
    CHECK(pair.there.inbox.next<event::LinkOpened>());
}

TEST_CASE("the listening port can be set to a router's port or to none", "[net]") {
    End listener(options_of(1, true));
    CHECK(listener.transport.listening_port() != 0);
    listener.transport.set_listening_port(7);
    CHECK(listener.transport.listening_port() == 7);
    listener.transport.set_listening_port(0);
    CHECK(listener.transport.listening_port() == 0);
}

TEST_CASE("garbage at any stage of the handshake ends the connection", "[net]") {
    End listener(options_of(1, true));
    const SessionOptions session = *options_of(2, false).session;
    const Buffer garbage(Handshake::kSealedBytes, std::byte{0x5a});
    const formats::UtcSeconds now =
        std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    for (int stage = 0; stage < 3; ++stage) {
        const BareSocket socket(listener.transport.listening_port());
        Handshake handshake(session, Side::kDialler);
        Buffer message = handshake.begin();
        for (int i = 0; i < stage; ++i) {
            socket.write(message);
            const auto answer = socket.read(handshake.wants());
            REQUIRE(answer);
            message = handshake.take(*answer, now, {});
        }
        socket.write(std::span{garbage}.first(message.size()));
        CHECK(socket.is_hung_up());
    }
    CHECK(listener.inbox.waiting<event::LinkOpened>() == 0);
}

TEST_CASE("garbage and replays after the handshake end the link and deliver nothing", "[net]") {
    End listener(options_of(1, true));
    const formats::UtcSeconds now =
        std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const SessionOptions session = *options_of(2, false).session;
    for (const bool is_replay : {false, true}) {
        const BareSocket socket(listener.transport.listening_port());
        Handshake handshake(session, Side::kDialler);
        Buffer message = handshake.begin();
        while (!handshake.is_proven()) {
            socket.write(message);
            const auto answer = socket.read(handshake.wants());
            REQUIRE(answer);
            message = handshake.take(*answer, now, {});
        }
        socket.write(message);
        const auto opened = listener.inbox.next<event::LinkOpened>();
        REQUIRE(opened);
        CHECK(opened->proven == test_key(2).public_key());
        const FrameCodec codec = make_sealed_codec(handshake.proven().keys(), 1 << 20);
        const SharedBytes body = frame_of(100, 1);
        codec.encoder->add({{kFrameMagic, FrameKind::kData, 100, 0}, body});
        const auto sealed = codec.encoder->next()[0];
        if (is_replay) {
            socket.write(sealed);
            REQUIRE(listener.inbox.next<event::FrameReceived>());
            socket.write(sealed.subspan(24));
        } else {
            socket.write(Buffer(sealed.size(), std::byte{1}));
        }
        CHECK(listener.inbox.next<event::LinkClosed>());
        CHECK(listener.inbox.waiting<event::FrameReceived>() == 0);
    }
}

TEST_CASE("a dial fails with a reason if the listener stalls or hangs up in the handshake",
          "[net][timing]") {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(::listen(listener, 4) == 0);
    REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    TransportOptions options = options_of(2, false);
    options.handshakes.deadline = 300ms;
    End dialler(options);
    dialler.transport.dial({"127.0.0.1", ntohs(address.sin_port)});
    const auto stalled = dialler.inbox.next<event::DialFailed>();
    REQUIRE(stalled);
    CHECK(stalled->why == describe(LinkRefusal::kTooSlow));
    ::close(::accept(listener, nullptr, nullptr));
    dialler.transport.dial({"127.0.0.1", ntohs(address.sin_port)});
    ::close(::accept(listener, nullptr, nullptr));
    const auto hung_up = dialler.inbox.next<event::DialFailed>();
    REQUIRE(hung_up);
    CHECK(hung_up->why == describe(LinkRefusal::kHungUp));
    ::close(listener);
}

TEST_CASE("a slow handshake has the same deadline as a silent connection", "[net][timing]") {
    TransportOptions options = options_of(1, true);
    options.handshakes.deadline = 300ms;
    End listener(options);
    const BareSocket silent(listener.transport.listening_port());
    const BareSocket slow(listener.transport.listening_port());
    const SessionOptions session = *options_of(2, false).session;
    Handshake handshake(session, Side::kDialler);
    const Buffer hello = handshake.begin();
    slow.write(std::span{hello}.first(20));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(silent.is_hung_up());
    CHECK(slow.is_hung_up());
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("transports can be destroyed during handshakes", "[net]") {
    for (std::uint64_t round = 0; round < 100; ++round) {
        Random random(round);
        auto listener = std::make_unique<End>(options_of(1, true));
        auto dialler = std::make_unique<End>(options_of(2, false));
        const BareSocket silent(listener->transport.listening_port());
        for (int i = 0; i < 5; ++i) dialler->transport.dial(listener->endpoint());
        for (std::uint64_t i = random.below(4); i > 0; --i) {
            const auto opened = dialler->inbox.next<event::LinkOpened>();
            REQUIRE(opened);
            dialler->transport.send(opened->link, frame_of(100'000, round));
        }
        if (random.below(2) == 0) {
            listener.reset();
        } else {
            dialler.reset();
        }
    }
}

TEST_CASE("a peer with a session and one without do not link, and both find out", "[net]") {
    End listener(options_of(1, true));
    End plain(TransportOptions{});
    plain.transport.dial(listener.endpoint());
    // The end without a session needs no proof, so its link opens; it ends with the first frame.
    const auto opened = plain.inbox.next<event::LinkOpened>();
    REQUIRE(opened);
    CHECK_FALSE(opened->proven);
    plain.transport.send(opened->link, frame_of(100, 1));
    CHECK(plain.inbox.next<event::LinkClosed>());
    CHECK(listener.inbox.waiting<event::LinkOpened>() == 0);
}

}  // namespace
}  // namespace dedloc::net
