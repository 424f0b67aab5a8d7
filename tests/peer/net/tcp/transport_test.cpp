#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/peer/net/tcp/bare_socket.hpp"
#include "tests/peer/net/tcp/inbox.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;

SharedBytes random_frame(std::size_t size, std::uint64_t seed) {
    Buffer bytes(size);
    Random random(seed);
    for (std::size_t i = 0; i < size; i += 8) {
        const std::uint64_t word = random.next();
        std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
    }
    return std::make_shared<const Buffer>(std::move(bytes));
}

/// Two transports and one link between them; `here` is the end that dialled.
struct Pair {
    explicit Pair(const TransportOptions& listening = on_loopback(),
                  const TransportOptions& dialling = {})
        : there(listening, there_inbox.sink()), here(dialling, here_inbox.sink()) {
        here.dial({"127.0.0.1", there.listening_port()});
        const auto dialled = here_inbox.next<event::LinkOpened>();
        const auto accepted = there_inbox.next<event::LinkOpened>();
        REQUIRE(dialled);
        REQUIRE(accepted);
        CHECK(dialled->dialled);
        CHECK_FALSE(accepted->dialled);
        CHECK(accepted->remote.host == "127.0.0.1");
        here_link = dialled->link;
        there_link = accepted->link;
    }
    Inbox there_inbox;
    Inbox here_inbox;
    TcpTransport there;
    TcpTransport here;
    LinkId here_link;
    LinkId there_link;
};

TEST_CASE("frames of every size arrive whole and in order both ways", "[net]") {
    Pair pair;
    const std::size_t limit = LinkLimits{}.frame_bytes;
    const std::vector<std::size_t> sizes{0, 1, 15, 16, 17, 256U << 10, (256U << 10) + 1, 0, limit};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        pair.here.send(pair.here_link, random_frame(sizes[i], i));
        pair.there.send(pair.there_link, random_frame(sizes[i], 100 + i));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto to_there = pair.there_inbox.next<event::FrameReceived>();
        const auto to_here = pair.here_inbox.next<event::FrameReceived>();
        REQUIRE(to_there);
        REQUIRE(to_here);
        CHECK(*to_there->frame == *random_frame(sizes[i], i));
        CHECK(*to_here->frame == *random_frame(sizes[i], 100 + i));
        pair.there.taken(to_there->link);
        pair.here.taken(to_here->link);
    }
}

TEST_CASE("every written frame is reported, and pings are not", "[net]") {
    auto quick = on_loopback();
    quick.limits.ping_interval = std::chrono::milliseconds{20};
    Pair pair(quick, quick);
    CHECK_FALSE(pair.here_inbox.next<event::FrameWritten>(std::chrono::milliseconds{100}));
    constexpr std::size_t kFrames = 40;
    for (std::size_t i = 0; i < kFrames; ++i) {
        pair.here.send(pair.here_link, random_frame(i * 10'000, i));
    }
    for (std::size_t i = 0; i < kFrames; ++i) {
        const auto written = pair.here_inbox.next<event::FrameWritten>();
        REQUIRE(written);
        CHECK(written->link == pair.here_link);
    }
    for (std::size_t i = 0; i < kFrames; ++i) {
        REQUIRE(pair.there_inbox.next<event::FrameReceived>());
        pair.there.taken(pair.there_link);
    }
    CHECK(pair.here_inbox.waiting<event::FrameWritten>() == 0);
    CHECK(pair.there_inbox.waiting<event::FrameWritten>() == 0);
}

TEST_CASE("a large frame is written when it is confirmed, and a false receipt ends the link",
          "[net]") {
    Inbox inbox;
    TcpTransport transport(on_loopback(), inbox.sink());
    const BareSocket socket(transport.listening_port());
    const auto opened = inbox.next<event::LinkOpened>();
    REQUIRE(opened);
    transport.send(opened->link, random_frame(100'000, 1));
    transport.send(opened->link, random_frame(10, 2));
    REQUIRE(socket.read(2 * sizeof(FrameHeader) + 100'010));
    CHECK_FALSE(inbox.next<event::FrameWritten>(std::chrono::milliseconds{100}));
    const FrameHeader receipt{kFrameMagic, FrameKind::kReceipt, 0, 1};
    socket.write(&receipt, sizeof receipt);
    CHECK(inbox.next<event::FrameWritten>());
    CHECK(inbox.next<event::FrameWritten>());
    socket.write(&receipt, sizeof receipt);
    CHECK(inbox.next<event::LinkClosed>());
}

TEST_CASE("a frame over the receiver's limit ends the link", "[net]") {
    auto options = on_loopback();
    options.limits.frame_bytes = 1000;
    Pair pair(options);
    pair.here.send(pair.here_link, random_frame(1000, 1));
    pair.here.send(pair.here_link, random_frame(1001, 2));
    CHECK(pair.there_inbox.next<event::FrameReceived>());
    CHECK(pair.there_inbox.next<event::LinkClosed>());
    CHECK(pair.here_inbox.next<event::LinkClosed>());
    CHECK(pair.there_inbox.waiting<event::FrameReceived>() == 0);
}

TEST_CASE("garbage instead of a header ends the link", "[net]") {
    Inbox inbox;
    TcpTransport transport(on_loopback(), inbox.sink());
    const FrameHeader good{kFrameMagic, FrameKind::kData, 0, 0};
    FrameHeader wrong_magic = good;
    wrong_magic.magic ^= 1;
    FrameHeader wrong_kind = good;
    wrong_kind.kind = static_cast<FrameKind>(77);
    FrameHeader long_ping = good;
    long_ping.kind = FrameKind::kPing;
    long_ping.length = 1;
    FrameHeader forged_length = good;
    forged_length.length = 0xffffffff;
    FrameHeader detail = good;
    detail.detail = 1;
    for (const FrameHeader& header : {wrong_magic, wrong_kind, long_ping, forged_length, detail}) {
        const BareSocket socket(transport.listening_port());
        socket.write(&header, sizeof(header));
        REQUIRE(inbox.next<event::LinkOpened>());
        REQUIRE(inbox.next<event::LinkClosed>());
    }
    CHECK(inbox.waiting<event::FrameReceived>() == 0);
}

TEST_CASE("a header that arrives byte by byte is decoded", "[net]") {
    Inbox inbox;
    TcpTransport transport(on_loopback(), inbox.sink());
    const BareSocket socket(transport.listening_port());
    const FrameHeader header{kFrameMagic, FrameKind::kData, 3, 0};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes += "abc";
    for (const char& byte : bytes) socket.write(&byte, 1);
    const auto received = inbox.next<event::FrameReceived>();
    REQUIRE(received);
    CHECK(std::memcmp(received->frame->data(), "abc", 3) == 0);
}

TEST_CASE("frames that the driver does not take are bounded and block the sender", "[net]") {
    auto options = on_loopback();
    options.limits.untaken_frames = 4;
    Pair pair(options);
    constexpr std::uint64_t kFrames = 400;
    for (std::uint64_t i = 0; i < kFrames; ++i)
        pair.here.send(pair.here_link, random_frame(64 << 10, i));
    for (std::uint64_t i = 0; i < kFrames; ++i) {
        const auto frame = pair.there_inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        CHECK(pair.there_inbox.waiting<event::FrameReceived>() <= 4);
        CHECK(*frame->frame == *random_frame(64 << 10, i));
        pair.there.taken(frame->link);
    }
}

TEST_CASE("a receiver that never reads does not make the sender's queue grow", "[net]") {
    auto reader = on_loopback();
    reader.limits.untaken_frames = 1;
    TransportOptions writer;
    writer.limits.queue_bytes = 4 << 20;
    Pair pair(reader, writer);
    const SharedBytes frame = random_frame(256 << 10, 1);
    pair.here.send(pair.here_link, frame);
    CHECK(pair.there_inbox.next<event::FrameReceived>());
    bool is_closed = false;
    for (int i = 0; i < 1000 && !is_closed; ++i) {
        pair.here.send(pair.here_link, frame);
        is_closed = pair.here_inbox.waiting<event::LinkClosed>() > 0;
    }
    CHECK(pair.here_inbox.next<event::LinkClosed>());
    CHECK(pair.there_inbox.waiting<event::FrameReceived>() == 0);
}

TEST_CASE("close delivers what was sent before it and tells both ends once", "[net]") {
    Pair pair;
    for (std::uint64_t i = 0; i < 20; ++i) pair.here.send(pair.here_link, random_frame(200'000, i));
    // Frames that the other end still sends must not reset the connection before it has read all.
    for (int i = 0; i < 20; ++i) pair.there.send(pair.there_link, random_frame(200'000, 1));
    pair.here.close(pair.here_link);
    pair.here.send(pair.here_link, random_frame(10, 99));
    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto frame = pair.there_inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        CHECK(*frame->frame == *random_frame(200'000, i));
        pair.there.taken(frame->link);
    }
    CHECK(pair.there_inbox.next<event::LinkClosed>());
    CHECK(pair.here_inbox.next<event::LinkClosed>());
    pair.here.close(pair.here_link);
    CHECK(pair.here_inbox.waiting<event::LinkClosed>() == 0);
    CHECK(pair.there_inbox.waiting<event::LinkClosed>() == 0);
    CHECK(pair.there_inbox.waiting<event::FrameReceived>() == 0);
}

TEST_CASE("one transport carries fifty links", "[net]") {
    Inbox hub_inbox;
    TcpTransport hub(on_loopback(), hub_inbox.sink());
    constexpr std::size_t kLinks = 50;
    std::vector<std::unique_ptr<Inbox>> inboxes;
    std::vector<std::unique_ptr<TcpTransport>> spokes;
    std::vector<LinkId> links;
    for (std::size_t i = 0; i < kLinks; ++i) {
        inboxes.push_back(std::make_unique<Inbox>());
        spokes.push_back(std::make_unique<TcpTransport>(TransportOptions{}, inboxes[i]->sink()));
        spokes[i]->dial({"127.0.0.1", hub.listening_port()});
    }
    for (std::size_t i = 0; i < kLinks; ++i) {
        const auto opened = inboxes[i]->next<event::LinkOpened>();
        REQUIRE(opened);
        links.push_back(opened->link);
        spokes[i]->send(opened->link, random_frame(10'000 + i, i));
    }
    for (std::size_t i = 0; i < kLinks; ++i) {  // the hub echoes each frame
        const auto frame = hub_inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        hub.taken(frame->link);
        hub.send(frame->link, frame->frame);
    }
    for (std::size_t i = 0; i < kLinks; ++i) {
        const auto echo = inboxes[i]->next<event::FrameReceived>();
        REQUIRE(echo);
        CHECK(*echo->frame == *random_frame(10'000 + i, i));
    }
    spokes.clear();
    for (std::size_t i = 0; i < kLinks; ++i) REQUIRE(hub_inbox.next<event::LinkClosed>());
    CHECK(hub_inbox.waiting<event::LinkOpened>() == kLinks);
}

TEST_CASE("the death of the other end is noticed at once", "[net]") {
    Inbox inbox;
    TcpTransport transport(on_loopback(), inbox.sink());
    {
        const BareSocket socket(transport.listening_port());
        REQUIRE(inbox.next<event::LinkOpened>());
    }
    CHECK(inbox.next<event::LinkClosed>(3s));
}

TEST_CASE("a silent peer is dropped after the silence timeout and a pinging one is not",
          "[net][timing]") {
    auto options = on_loopback();
    options.limits.ping_interval = 50ms;
    options.limits.silence_timeout = 1s;
    Pair pair(options, options);
    const BareSocket silent(pair.there.listening_port());
    const auto opened = pair.there_inbox.next<event::LinkOpened>();
    REQUIRE(opened);
    const auto closed = pair.there_inbox.next<event::LinkClosed>(5s);
    REQUIRE(closed);
    CHECK(closed->link == opened->link);
    pair.here.send(pair.here_link,
                   random_frame(5, 5));  // the link has carried only pings for a second
    CHECK(pair.there_inbox.next<event::FrameReceived>());
}

/// Reads the next frame, a ping, and returns the time until the ping after it.
std::chrono::milliseconds next_ping(const BareSocket& socket) {
    FrameHeader header;
    const auto bytes = socket.read(sizeof header);
    REQUIRE(bytes);
    std::memcpy(&header, bytes->data(), sizeof header);
    REQUIRE(header.kind == FrameKind::kPing);
    return std::chrono::milliseconds{header.detail};
}

void ping(const BareSocket& socket, std::chrono::milliseconds next) {
    const FrameHeader header{kFrameMagic, FrameKind::kPing, 0,
                             static_cast<std::uint32_t>(next.count())};
    socket.write(&header, sizeof header);
}

TEST_CASE("pings become rarer on an idle link, until a frame comes", "[net]") {
    auto options = on_loopback();
    options.limits.ping_interval = 20ms;
    options.limits.longest_ping_interval = 160ms;
    options.limits.silence_timeout = 20s;
    Inbox inbox;
    TcpTransport transport(options, inbox.sink());
    const BareSocket socket(transport.listening_port());
    const auto await_rare_pings = [&] {
        auto next = next_ping(socket);
        while (next == 20ms) next = next_ping(socket);
        for (const auto rarer : {40ms, 80ms, 160ms, 160ms}) {
            CHECK(next == rarer);
            next = next_ping(socket);
        }
    };
    await_rare_pings();
    const FrameHeader frame{kFrameMagic, FrameKind::kData, 0, 0};
    socket.write(&frame, sizeof frame);
    const auto next = next_ping(socket);  // it may have been in flight
    CHECK((next == 20ms || next_ping(socket) == 20ms));
    await_rare_pings();
}

TEST_CASE("the silence timeout follows announced pings, until a frame is sent", "[net][timing]") {
    auto options = on_loopback();
    options.limits.ping_interval = 50ms;
    options.limits.longest_ping_interval = 60s;
    options.limits.silence_timeout = 500ms;
    Inbox inbox;
    TcpTransport transport(options, inbox.sink());
    const BareSocket socket(transport.listening_port());
    const auto opened = inbox.next<event::LinkOpened>();
    REQUIRE(opened);
    while (next_ping(socket) == 50ms) ping(socket, 50ms);
    ping(socket, 60s);
    CHECK_FALSE(inbox.next<event::LinkClosed>(2s));
    const auto begin = std::chrono::steady_clock::now();
    transport.send(opened->link, random_frame(5, 5));
    CHECK(inbox.next<event::LinkClosed>(30s));
    CHECK(std::chrono::steady_clock::now() - begin >= 500ms);
}

TEST_CASE("a failed dial is reported with its address", "[net]") {
    Inbox inbox;
    TcpTransport transport({}, inbox.sink());
    CHECK(transport.listening_port() == 0);
    std::uint16_t free_port = 0;
    {
        Inbox unused;
        free_port = TcpTransport(on_loopback(), unused.sink()).listening_port();
    }
    const Endpoint nobody{"127.0.0.1", free_port};
    for (const Endpoint& remote : {nobody, Endpoint{"no such host", 1}, Endpoint{"127.0.0.1", 0}}) {
        transport.dial(remote);
        const auto failed = inbox.next<event::DialFailed>();
        REQUIRE(failed);
        CHECK(failed->remote == remote);
    }
}

TEST_CASE("a port in use gives a one-sentence error", "[net]") {
    Inbox inbox;
    const TcpTransport transport(on_loopback(), inbox.sink());
    auto options = on_loopback();
    options.listen->port = transport.listening_port();
    CHECK_THROWS_WITH(TcpTransport(options, inbox.sink()),
                      fmt::format("cannot listen on 127.0.0.1:{}: the port is in use",
                                  transport.listening_port()));
    options.listen = Endpoint{"example.org", 0};
    CHECK_THROWS_AS(TcpTransport(options, inbox.sink()), InputError);
}

TEST_CASE("a link above the limit is closed", "[net]") {
    auto options = on_loopback();
    options.max_links = 2;
    Inbox inbox;
    TcpTransport transport(options, inbox.sink());
    Inbox outer_inbox;
    TcpTransport outer({}, outer_inbox.sink());
    for (int i = 0; i < 3; ++i) outer.dial({"127.0.0.1", transport.listening_port()});
    CHECK(outer_inbox.next<event::LinkClosed>());
    CHECK(inbox.next<event::LinkOpened>());
    CHECK(inbox.next<event::LinkOpened>());
}

TEST_CASE("transports can be destroyed during transfers", "[net]") {
    for (std::uint64_t round = 0; round < 200; ++round) {
        Random random(round);
        auto pair = std::make_unique<Pair>();
        const SharedBytes frame = random_frame(100'000, round);
        for (int i = 0; i < 20; ++i) {
            pair->here.send(pair->here_link, frame);
            pair->there.send(pair->there_link, frame);
        }
        pair->here.dial({"127.0.0.1", pair->there.listening_port()});
        if (random.below(2) == 0) pair->here.close(pair->here_link);
        for (std::uint64_t i = random.below(20); i > 0; --i) {
            if (!pair->there_inbox.next<event::FrameReceived>(50ms)) break;
            pair->there.taken(pair->there_link);
        }
        pair.reset();
    }
}

TEST_CASE("every opened link is reported closed exactly once", "[net]") {
    Inbox hub_inbox;
    auto hub = std::make_unique<TcpTransport>(on_loopback(), hub_inbox.sink());
    for (std::uint64_t round = 0; round < 30; ++round) {
        Inbox inbox;
        Random random(1000 + round);
        auto spoke = std::make_unique<TcpTransport>(TransportOptions{}, inbox.sink());
        for (int i = 0; i < 5; ++i) spoke->dial({"127.0.0.1", hub->listening_port()});
        for (int i = 0; i < 5; ++i) {
            const auto opened = inbox.next<event::LinkOpened>();
            REQUIRE(opened);
            spoke->send(opened->link, random_frame(random.below(300'000), round));
            if (random.below(2) == 0) spoke->close(opened->link);
        }
        spoke.reset();
        CHECK(inbox.waiting<event::LinkClosed>() == 5);
    }
    hub.reset();
    CHECK(hub_inbox.waiting<event::LinkOpened>() == hub_inbox.waiting<event::LinkClosed>());
}

/// Seconds to move `total` bytes between two plain blocking sockets.
double plain_copy_seconds(std::size_t total, std::size_t chunk) {
    int ends[2];
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(::listen(listener, 1) == 0);
    REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    ends[0] = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(::connect(ends[0], reinterpret_cast<sockaddr*>(&address), length) == 0);
    ends[1] = ::accept(listener, nullptr, nullptr);
    const auto begin = std::chrono::steady_clock::now();
    std::thread writer([&] {
        const Buffer bytes(chunk);
        for (std::size_t sent = 0; sent < total;) {
            const ssize_t n = ::send(ends[0], bytes.data(), std::min(chunk, total - sent), 0);
            if (n <= 0) return;
            sent += static_cast<std::size_t>(n);
        }
    });
    Buffer bytes(chunk);
    for (std::size_t got = 0; got < total;) {
        const ssize_t n = ::recv(ends[1], bytes.data(), chunk, 0);
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
    }
    writer.join();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    for (const int end : {ends[0], ends[1], listener}) ::close(end);
    return spent.count();
}

TEST_CASE("throughput of one link", "[.bench][net]") {
    constexpr std::size_t kChunk = 256 << 10;
    constexpr std::size_t kFrames = 8192;
    constexpr std::size_t kWindow = 32;
    for (int repetition = 0; repetition < 3; ++repetition) {
        Pair pair;
        const SharedBytes frame = random_frame(kChunk, 1);
        const auto begin = std::chrono::steady_clock::now();
        std::size_t sent = 0;
        for (; sent < kWindow; ++sent) pair.here.send(pair.here_link, frame);
        for (std::size_t i = 0; i < kFrames; ++i) {
            const auto received = pair.there_inbox.next<event::FrameReceived>();
            REQUIRE(received);
            pair.there.taken(received->link);
            if (sent++ < kFrames) pair.here.send(pair.here_link, frame);
        }
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        const double total = static_cast<double>(kFrames * kChunk) / 1e9;
        const double plain = plain_copy_seconds(kFrames * kChunk, kChunk);
        WARN(fmt::format("link {:.2f} GB/s, plain sockets {:.2f} GB/s", total / spent.count(),
                         total / plain));
    }
}

}  // namespace
}  // namespace dedloc::net
