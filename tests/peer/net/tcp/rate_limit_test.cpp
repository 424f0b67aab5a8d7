// Caps on the traffic of all links together. Only lower bounds of times are checked: a slow machine
// takes longer.
#include "peer/net/tcp/rate_limit.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/peer/net/tcp/inbox.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kFrame = 16 << 10;
constexpr std::size_t kSentFrames = 8;  ///< on each link
constexpr Bandwidth kCap{256 << 10};

/// One transport that dials several others.
struct Star {
    Star() {
        for (std::size_t i = 0; i < 4; ++i) {
            inboxes.push_back(std::make_unique<Inbox>());
            others.push_back(std::make_unique<TcpTransport>(on_loopback(), inboxes.back()->sink()));
            here.dial({"127.0.0.1", others.back()->listening_port()});
            const auto dialled = inbox.next<event::LinkOpened>();
            const auto accepted = inboxes.back()->next<event::LinkOpened>();
            REQUIRE(dialled);
            REQUIRE(accepted);
            outward.push_back(dialled->link);
            inward.push_back(accepted->link);
        }
    }
    Inbox inbox;
    TcpTransport here{{}, inbox.sink()};
    std::vector<std::unique_ptr<Inbox>> inboxes;
    std::vector<std::unique_ptr<TcpTransport>> others;
    std::vector<LinkId> outward;
    std::vector<LinkId> inward;
};

SharedBytes frame() {
    return std::make_shared<const Buffer>(kFrame);
}

/// Least time that a cap allows for this traffic.
std::chrono::duration<double> min_time(std::size_t bytes) {
    return std::chrono::duration<double>{static_cast<double>(bytes - RateLimit::kBurst) /
                                         static_cast<double>(kCap.value())};
}

TEST_CASE("a cap on the upload holds for all links together, and they take turns", "[net]") {
    Star star;
    star.here.limit(kCap, {});
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kSentFrames; ++i) {
        for (const LinkId link : star.outward) star.here.send(link, frame());
    }
    // The last link has a frame before the first one has all of its frames.
    REQUIRE(star.inboxes.back()->next<event::FrameReceived>());
    CHECK(star.inboxes.front()->waiting<event::FrameReceived>() < kSentFrames);
    for (std::size_t i = 0; i < star.inboxes.size(); ++i) {
        const std::size_t rest = i + 1 == star.inboxes.size() ? kSentFrames - 1 : kSentFrames;
        for (std::size_t frames = 0; frames < rest; ++frames) {
            REQUIRE(star.inboxes[i]->next<event::FrameReceived>());
        }
    }
    const std::size_t bytes = 4 * kSentFrames * kFrame;
    CHECK(Clock::now() - begin >= min_time(bytes));
    // The receiver may have a frame before the sender has counted it.
    while (star.here.sent().value() < bytes && Clock::now() - begin < std::chrono::seconds{60}) {
        std::this_thread::yield();
    }
    CHECK(star.here.sent().value() >= bytes);
    CHECK(star.here.sent().value() < bytes + bytes / 16);
}

TEST_CASE("a cap on the download slows the senders down, and loses no link", "[net]") {
    Star star;
    star.here.limit({}, kCap);
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kSentFrames; ++i) {
        for (std::size_t j = 0; j < star.others.size(); ++j) {
            star.others[j]->send(star.inward[j], frame());
        }
    }
    for (std::size_t frames = 0; frames < 4 * kSentFrames; ++frames) {
        const auto received = star.inbox.next<event::FrameReceived>();
        REQUIRE(received);
        star.here.taken(received->link);
    }
    const std::size_t bytes = 4 * kSentFrames * kFrame;
    // The reads that were waiting when the cap came had none.
    CHECK(Clock::now() - begin >= min_time(bytes) / 2);
    CHECK(star.here.received().value() >= bytes);
    CHECK(star.inbox.waiting<event::LinkClosed>() == 0);
}

TEST_CASE("a cap that is taken back frees the links that wait", "[net]") {
    Star star;
    star.here.limit(Bandwidth{1}, {});
    for (std::size_t i = 0; i < kSentFrames; ++i) star.here.send(star.outward.front(), frame());
    star.here.limit({}, {});
    for (std::size_t i = 0; i < kSentFrames; ++i) {
        REQUIRE(star.inboxes.front()->next<event::FrameReceived>());
    }
}

TEST_CASE("a transport ends while its links wait for a cap", "[net]") {
    Star star;
    star.here.limit(Bandwidth{1}, Bandwidth{1});
    for (const LinkId link : star.outward) {
        for (std::size_t i = 0; i < kSentFrames; ++i) star.here.send(link, frame());
    }
    star.here.close(star.outward.front());
}

}  // namespace
}  // namespace dedloc::net
