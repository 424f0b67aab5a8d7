// What may block a transport's thread and what may not, over real sockets.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "peer/net/event_queue.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/peer/net/tcp/bare_socket.hpp"
#include "tests/peer/net/tcp/inbox.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a transport never blocks its driver, and ends when the queue is closed", "[net]") {
    EventQueue queue(2);
    auto transport = std::make_unique<TcpTransport>(on_loopback(), queue.sink());
    std::vector<std::unique_ptr<BareSocket>> sockets;
    for (int i = 0; i < 8; ++i) {
        sockets.push_back(std::make_unique<BareSocket>(transport->listening_port()));
    }
    // Two links have been reported, and the thread waits with the third.
    const auto opened = queue.take(std::chrono::steady_clock::now() + kTimeout);
    REQUIRE(opened);
    const LinkId link = std::get<event::LinkOpened>(*opened).link;
    for (int i = 0; i < 10'000; ++i) {
        transport->send(link, std::make_shared<const Buffer>(100));
        transport->taken(link);
    }
    transport->dial({"127.0.0.1", transport->listening_port()});
    transport->close(link);
    queue.close();
    transport.reset();
    for (const auto& socket : sockets) CHECK(socket->is_hung_up());
}

TEST_CASE("large frames that arrive together are confirmed with one receipt", "[net]") {
    constexpr std::uint32_t kFrames = 8;
    constexpr std::uint32_t kBytes = 4096;
    Inbox inbox;
    TcpTransport transport(on_loopback(), inbox.sink());
    const BareSocket socket(transport.listening_port());
    REQUIRE(inbox.next<event::LinkOpened>());
    FrameHeader header{kFrameMagic, FrameKind::kData, kBytes, 0};
    Buffer frames(kFrames * (sizeof header + kBytes));
    for (std::size_t i = 0; i < kFrames; ++i, ++header.detail) {
        std::memcpy(frames.data() + i * (sizeof header + kBytes), &header, sizeof header);
    }
    socket.write(frames);
    std::uint32_t confirmed = 0;
    std::size_t receipts = 0;
    while (confirmed < kFrames) {
        const auto bytes = socket.read(sizeof header);
        REQUIRE(bytes);
        FrameHeader answer;
        std::memcpy(&answer, bytes->data(), sizeof answer);
        if (answer.kind != FrameKind::kReceipt) continue;
        confirmed += answer.detail;
        ++receipts;
    }
    CHECK(confirmed == kFrames);
    CHECK(receipts <= kFrames / 2);
}

}  // namespace
}  // namespace dedloc::net
