// The limits of a transport's sockets: descriptors of the process, pending links, and links that
// prove nothing.
#include <time.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "peer/net/session/link_frame.hpp"
#include "peer/net/tcp/socket_places.hpp"
#include "peer/platform/descriptors.hpp"
#include "tests/peer/net/tcp/bare_socket.hpp"
#include "tests/peer/net/tcp/proven_ends.hpp"
#include "tests/peer/net/tcp/silent_crowd.hpp"
#include "tests/peer/platform/descriptor_shortage.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::chrono::nanoseconds processor_time() {
    timespec time{};
    REQUIRE(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

/// Accepts connections and sends nothing.
class DeafListener {
  public:
    DeafListener() : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(descriptor_, generic, size) == 0);
        REQUIRE(::listen(descriptor_, 128) == 0);
        REQUIRE(::getsockname(descriptor_, generic, &size) == 0);
        port_ = ntohs(address.sin_port);
    }
    ~DeafListener() { ::close(descriptor_); }
    DeafListener(const DeafListener&) = delete;
    DeafListener& operator=(const DeafListener&) = delete;
    Endpoint endpoint() const { return {"127.0.0.1", port_}; }

  private:
    int descriptor_;
    std::uint16_t port_ = 0;
};

/// Loopback addresses from 127.0.`third`.1 on.
std::vector<std::string> addresses(int third, int count) {
    std::vector<std::string> result;
    for (int i = 1; i <= count; ++i) {
        result.push_back("127.0." + std::to_string(third) + "." + std::to_string(i));
    }
    return result;
}

TEST_CASE("a transport's sockets leave descriptors for the rest of the process", "[net]") {
    for (std::size_t sockets = 8; sockets < 5'000; ++sockets) {
        const SocketPlaces places = divide_sockets({}, sockets);
        CHECK(places.links + places.dials + 2 * places.handshakes <= sockets);
        CHECK(places.more_flows <= places.links / 4);
    }
    const TransportOptions options;
    const SocketPlaces places = divide_sockets(options, platform::socket_budget(65'536));
    CHECK(places.links == options.max_links);
    CHECK(places.dials == options.max_dials);
    CHECK(places.handshakes == options.handshakes.together);
    CHECK(divide_sockets({}, 0).links == 1);
}

TEST_CASE("a voter's ten thousand links are said to need descriptors that are missing", "[net]") {
    TransportOptions options;
    for (const std::size_t links : {kDefaultLinks, kDefaultVoterLinks, kMaxLinks}) {
        options.max_links = links;
        const std::size_t limit = descriptors_for(options);
        CHECK(limit <= 65'536);
        CHECK(divide_sockets(options, platform::socket_budget(limit)).links == links);
        CHECK(divide_sockets(options, platform::socket_budget(limit)).dials == options.max_dials);
        const SocketPlaces enough = divide_sockets(options, platform::socket_budget(limit));
        CHECK(describe_places(options, enough, limit) ==
              "at most " + std::to_string(links) + " links");
    }
    options.max_links = kDefaultVoterLinks;
    CHECK(descriptors_for(options) == 2 * kDefaultVoterLinks + 256);
    const SocketPlaces few = divide_sockets(options, platform::socket_budget(1'024));
    CHECK(few.links == 384);
    const std::string line = describe_places(options, few, 1'024);
    CHECK(line.find("at most 384 links instead of 10000") == 0);
    CHECK(line.find("may open 1024 files, and all would need 20256") != std::string::npos);
}

TEST_CASE("a transport accepts and dials again when descriptors become free", "[net]") {
    Inbox inbox;
    TcpTransport transport(on_loopback(), inbox.sink());
    Inbox outer_inbox;
    TcpTransport outer({}, outer_inbox.sink());
    std::unique_ptr<BareSocket> socket;
    {
        const DescriptorShortage shortage(1);
        socket = std::make_unique<BareSocket>(transport.listening_port());
        outer.dial({"127.0.0.1", transport.listening_port()});
        const auto failed = outer_inbox.next<event::DialFailed>();
        REQUIRE(failed);
        CHECK(failed->why == "this process has no descriptor left to dial with");
        const auto before = processor_time();
        CHECK_FALSE(inbox.next<event::LinkOpened>(500ms));
        CHECK(processor_time() - before < 250ms);  // it pauses between its attempts
    }
    CHECK(inbox.next<event::LinkOpened>());
    outer.dial({"127.0.0.1", transport.listening_port()});
    CHECK(outer_inbox.next<event::LinkOpened>());
    CHECK(inbox.next<event::LinkOpened>());
}

TEST_CASE("a transport never uses more descriptors than it is given", "[net]") {
    constexpr std::size_t kSockets = 32;
    TransportOptions options = options_of(1, true);
    options.sockets = kSockets;
    options.max_links_of_one = 100;
    options.handshakes.deadline = 60s;
    const SocketPlaces places = divide_sockets(options, kSockets);
    End hub(options);
    End member(options_of(2, false));
    const DeafListener deaf;
    const std::size_t before = open_descriptors();
    for (std::size_t i = 0; i < places.links; ++i) {
        member.transport.dial(hub.endpoint());
        REQUIRE(member.inbox.next<event::LinkOpened>());
        REQUIRE(hub.inbox.next<event::LinkOpened>());
    }
    for (int i = 0; i < 4; ++i) {
        member.transport.dial(hub.endpoint());
        CHECK(member.inbox.next<event::DialFailed>());
    }
    std::vector<std::unique_ptr<BareSocket>> silent;
    for (const std::string& from : addresses(1, 100)) {
        silent.push_back(std::make_unique<BareSocket>(hub.transport.listening_port(), from));
    }
    constexpr std::size_t kDials = 100;
    for (std::size_t i = 0; i < kDials; ++i) hub.transport.dial(deaf.endpoint());
    for (std::size_t i = 0; i < kDials - places.dials; ++i) {
        const auto failed = hub.inbox.next<event::DialFailed>();
        REQUIRE(failed);
        CHECK(failed->why == "too many dials and links at once");
    }
    CHECK(hub.inbox.waiting<event::DialFailed>() == 0);
    // The other descriptors of this process: the member's ends of the links, and the silent
    // sockets.
    CHECK(open_descriptors() <= before + places.links + silent.size() + kSockets);
    CHECK(hub.inbox.waiting<event::LinkClosed>() == 0);
}

/// Time until an honest peer's link is open at both ends.
Clock::duration time_to_link(End& listener, std::uint8_t n) {
    End honest(options_of(n, false));
    const auto begin = Clock::now();
    honest.transport.dial(listener.endpoint());
    const auto opened = honest.inbox.next<event::LinkOpened>(5s);
    CHECK(opened);
    CHECK(listener.inbox.next<event::LinkOpened>(5s));
    return Clock::now() - begin;
}

void check_newcomers(End& listener, const SilentCrowd& crowd) {
    for (std::uint8_t n = 2; n < 6; ++n) {
        const std::size_t others = crowd.connected();
        CHECK(time_to_link(listener, n) < 2s);
        REQUIRE(crowd.reaches(others + 20));
    }
}

TEST_CASE("silent connections that reconnect at once do not keep honest peers out",
          "[net][timing]") {
    const std::size_t count = GENERATE(256U, 600U);
    // The crowd has the honest peers' address, a few others, or one address per connection.
    const auto from =
        GENERATE(std::vector<std::string>{"127.0.0.1"}, addresses(1, 20), addresses(2, 250));
    TransportOptions options = options_of(1, true);
    options.handshakes.deadline = 60s;
    End listener(options);
    const SilentCrowd crowd(
        {.port = listener.transport.listening_port(), .connections = count, .from = from});
    REQUIRE(crowd.reaches(count));
    // Connections are evicted only while there are too many of them.
    const bool is_renewed = count > 256;
    if (is_renewed) {
        check_newcomers(listener, crowd);
    } else {
        for (std::uint8_t n = 2; n < 6; ++n) CHECK(time_to_link(listener, n) < 2s);
    }
    CHECK(listener.inbox.waiting<event::LinkOpened>() == 0);
}

TEST_CASE("connections that send only a Hello do not keep peers of other addresses out",
          "[net][timing]") {
    const auto from = GENERATE(addresses(3, 20), addresses(4, 250));
    TransportOptions options = options_of(1, true);
    options.handshakes.deadline = 60s;
    End listener(options);
    const SessionOptions session = *options_of(2, false).session;
    const SilentCrowd crowd({.port = listener.transport.listening_port(),
                             .connections = 600,
                             .from = from,
                             .hello = Handshake(session, Side::kDialler).begin()});
    REQUIRE(crowd.reaches(600));
    check_newcomers(listener, crowd);
    CHECK(listener.inbox.waiting<event::LinkOpened>() == 0);
}

/// `clients` addresses in each of the given networks of 16 bits.
std::vector<std::string> networks(int first, int count, int clients) {
    std::vector<std::string> result;
    for (int i = 0; i < clients; ++i) {
        for (int network = first; network < first + count; ++network) {
            result.push_back("127." + std::to_string(network) + "." + std::to_string(i / 250) +
                             "." + std::to_string(1 + i % 250));
        }
    }
    return result;
}

TEST_CASE("a distant peer's handshake survives a flood of Hellos from many addresses",
          "[net][timing]") {
    // One connection from each address, so no address has more of them than the honest peer.
    const auto from = GENERATE(networks(66, 1, 500), networks(66, 4, 1'000));
    TransportOptions options = options_of(1, true);
    options.handshakes.deadline = 60s;
    End listener(options);
    const SilentCrowd crowd(
        {.port = listener.transport.listening_port(),
         .connections = from.size(),
         .from = from,
         .hello = Handshake(*options_of(2, false).session, Side::kDialler).begin()});
    REQUIRE(crowd.reaches(from.size()));
    for (std::uint8_t n = 3; n < 6; ++n) {
        const BareSocket distant(listener.transport.listening_port());
        distant.write(Handshake(*options_of(n, false).session, Side::kDialler).begin());
        REQUIRE(distant.read(Handshake::kHelloBytes));
        // As many connections as a flood opens in a round trip, and more than all places.
        const std::size_t before = crowd.connected();
        REQUIRE(crowd.reaches(before + 1'000));
        CHECK_FALSE(distant.has_more(0));
    }
    CHECK(time_to_link(listener, 6) < 10s);
}

TEST_CASE("silent links without proofs are evicted, links with frames are not", "[net]") {
    TransportOptions options = on_loopback();
    options.max_links = 8;
    Inbox inbox;
    TcpTransport transport(options, inbox.sink());
    const auto linked = [&](const std::string& from) {
        auto socket = std::make_unique<BareSocket>(transport.listening_port(), from);
        REQUIRE(inbox.next<event::LinkOpened>());
        return socket;
    };
    // A frame with an empty body counts.
    std::map<const BareSocket*, std::uint32_t> numbers;
    const auto say = [&](const BareSocket& socket) {
        const FrameHeader header{kFrameMagic, FrameKind::kData, 0, numbers[&socket]++};
        socket.write(&header, sizeof header);
        REQUIRE(inbox.next<event::FrameReceived>());
    };
    const auto first = linked("127.0.0.1");
    say(*first);
    std::vector<std::unique_ptr<BareSocket>> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(linked("127.0.0.2"));
    // One address gets half of the links, so its own oldest links were evicted.
    CHECK(silent[15]->is_hung_up());
    CHECK(inbox.next<event::LinkClosed>());
    for (const std::string& from : addresses(4, 20)) silent.push_back(linked(from));
    const auto second = linked("127.0.0.3");
    say(*second);
    say(*first);
    // A link with a frame is never evicted, so without silent links new connections are closed.
    for (const std::string& from : addresses(5, 6)) {
        silent.push_back(linked(from));
        say(*silent.back());
    }
    const BareSocket late(transport.listening_port(), "127.0.0.9");
    CHECK(late.is_hung_up());
    say(*first);
}

}  // namespace
}  // namespace dedloc::net
