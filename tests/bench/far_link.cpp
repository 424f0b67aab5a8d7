// What links carry over a long path, for net_lab: one process sends over some links at once to
// another one, as fast as they take it, and prints the rate after each few seconds.
//
//     far_link receive HOST PORT
//     far_link send HOST PORT LINKS CONNECTIONS CONGESTION SECONDS
//
// CONNECTIONS: most of one link. Both run until they are killed, or for so many seconds. Keys and
// tickets are the same in each run, so links are sealed.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/net/event_queue.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/bench/link_session.hpp"

namespace dedloc::net {
namespace {

using Clock = std::chrono::steady_clock;

/// A chunk of a round among some homes, and as many of them as the core lets wait on a link.
constexpr std::size_t kFrame = std::size_t{16} << 10;
constexpr std::size_t kWindow = 2;
constexpr std::chrono::seconds kInterval{10};

TransportOptions options_of(std::uint8_t n) {
    TransportOptions options;
    options.session = bench::link_session(n);
    options.max_links_of_one = 100;
    return options;
}

std::uint16_t port_of(const char* text) {
    return static_cast<std::uint16_t>(std::atoi(text));
}

[[noreturn]] void receive(const Endpoint& here) {
    EventQueue queue;
    TransportOptions options = options_of(1);
    options.listen = here;
    TcpTransport transport(options, queue.sink());
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        const auto event = queue.take(Clock::now() + kInterval);
        if (!event) continue;
        if (const auto* frame = std::get_if<event::FrameReceived>(&*event)) {
            transport.taken(frame->link);
        }
    }
}

/// Sends over `links` links and prints MB/s of all of them together.
void send(const Endpoint& there, std::size_t links, const TransportOptions& options,
          std::chrono::seconds time) {
    EventQueue queue;
    TcpTransport transport(options, queue.sink());
    for (std::size_t k = 0; k < links; ++k) transport.dial(there);
    const auto frame = std::make_shared<const Buffer>(kFrame);
    const auto begin = Clock::now();
    auto next = begin + kInterval;
    std::uint64_t written = 0;
    while (Clock::now() < begin + time) {
        const auto event = queue.take(next);
        if (Clock::now() >= next) {
            const std::chrono::duration<double> seconds = kInterval;
            fmt::print(" {:.2f}", 1e-6 * static_cast<double>(written * kFrame) / seconds.count());
            std::fflush(stdout);
            written = 0;
            next += kInterval;
        }
        if (!event) continue;
        if (const auto* opened = std::get_if<event::LinkOpened>(&*event)) {
            for (std::size_t k = 0; k < kWindow; ++k) transport.send(opened->link, frame);
        } else if (const auto* done = std::get_if<event::FrameWritten>(&*event)) {
            ++written;
            transport.send(done->link, frame);
        } else if (const auto* failed = std::get_if<event::DialFailed>(&*event)) {
            throw IoError("a dial failed: " + failed->why);
        } else if (std::holds_alternative<event::LinkClosed>(*event)) {
            throw IoError("a link is gone");
        }
    }
    std::puts("");
    queue.close();
}

}  // namespace
}  // namespace dedloc::net

int main(int count, char** arguments) {
    using namespace dedloc::net;
    const std::string mode = count > 1 ? arguments[1] : "";
    dedloc::start_log("far_link", dedloc::LogLevel::kWarning);
    try {
        if (mode == "receive" && count == 4) receive({arguments[2], port_of(arguments[3])});
        if (mode == "send" && count == 8) {
            TransportOptions options = options_of(2);
            options.max_flows = static_cast<std::size_t>(std::atoi(arguments[5]));
            options.congestion = arguments[6];
            send({arguments[2], port_of(arguments[3])},
                 static_cast<std::size_t>(std::atoi(arguments[4])), options,
                 std::chrono::seconds{std::atoi(arguments[7])});
            return 0;
        }
    } catch (const std::exception& error) {
        fmt::print(stderr, "far_link: {}\n", error.what());
        return 1;
    }
    fmt::print(stderr,
               "Usage: far_link receive HOST PORT\n"
               "       far_link send HOST PORT LINKS CONNECTIONS CONGESTION SECONDS\n");
    return 2;
}
