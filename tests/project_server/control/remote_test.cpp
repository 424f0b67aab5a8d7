// The control plane between machines: who is let in, and what strangers can do.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/platform/descriptors.hpp"
#include "project_server/control/client.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/project_server/control/two_ports.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::control;
using namespace std::chrono_literals;

namespace {

using Change = Subscriber::Change;
using Clock = std::chrono::steady_clock;

/// A project and its voter on another machine.
struct Pair {
    explicit Pair(const std::filesystem::path& folder)
        : access{.listen = {"127.0.0.1", free_pair_of_ports()},
                 .own = voter,
                 .client = project.public_key()},
          end(folder, 5, access) {}
    RemoteEnd as(const KeyPair& own) const {
        return {.address = access.listen, .voter = voter.public_key(), .own = own};
    }
    const KeyPair voter = KeyPair::generate();
    const KeyPair project = KeyPair::generate();
    const RemoteAccess access;
    BackboneEnd end;
};

/// A TCP connection of a stranger; -1: refused.
int connect_to(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        return socket;
    }
    ::close(socket);
    return -1;
}

void send_bytes(int socket, const std::string& bytes) {
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// Whether the other end has closed the connection.
bool is_closed(int socket) {
    std::array<char, 256> bytes{};
    for (;;) {
        const auto count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (count > 0) continue;
        return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
}

bool is_closed_within(int socket, std::chrono::milliseconds limit) {
    const auto until = Clock::now() + limit;
    while (!is_closed(socket)) {
        if (Clock::now() >= until) return false;
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

bool answers(const Pair& pair) {
    return ask(pair.as(pair.project), {.command = Command::kSnapshot}).outcome ==
           Outcome::kAnswered;
}

Happening step(std::uint64_t number) {
    return StepCommitted{{.step = number, .samples = 1, .digest = {}}};
}

bool reaches(Subscriber& subscriber, const Snapshot& picture) {
    const auto until = Clock::now() + 20s;
    while (Clock::now() < until) {
        (void)subscriber.wait(50ms);
        if (subscriber.is_live() && subscriber.picture() == picture) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("only the project reaches a voter on another machine, and only that voter is believed",
          "[server][net]") {
    const TemporaryDirectory folder;
    Pair pair{folder.path()};
    pair.end.happen(step(1));
    const auto answer = ask(pair.as(pair.project), {.command = Command::kSnapshot});
    REQUIRE(answer.outcome == Outcome::kAnswered);
    CHECK(answer.reply.snapshot == pair.end.picture());

    // Another project's key, and the voter's own.
    const int asked = pair.end.asked();
    for (const KeyPair& key : {KeyPair::generate(), pair.voter}) {
        CHECK(ask(pair.as(key), {.command = Command::kPause}, 2s).outcome == Outcome::kAbsent);
    }
    // Another voter's key, as if someone else listened at the address.
    RemoteEnd other = pair.as(pair.project);
    other.voter = KeyPair::generate().public_key();
    CHECK(ask(other, {.command = Command::kPause}, 2s).outcome == Outcome::kAbsent);
    // A client without a key: ZeroMQ's greeting for connections that are not authenticated.
    const int plain = connect_to(pair.access.listen.port);
    send_bytes(plain, std::string{"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16} + std::string(48, '\0'));
    CHECK(is_closed_within(plain, 2s));
    ::close(plain);
    CHECK(pair.end.asked() == asked);
    CHECK(answers(pair));
    // The socket of this machine wants no key.
    CHECK(ask(folder.path(), {.command = Command::kSnapshot}).outcome == Outcome::kAnswered);

    // Nothing listens there, and there is no such name.
    RemoteEnd nowhere = pair.as(pair.project);
    nowhere.address.port = free_pair_of_ports();
    CHECK(ask(nowhere, {.command = Command::kPause}).outcome == Outcome::kAbsent);
    nowhere.address.host = "no.such.name.invalid";
    CHECK(ask(nowhere, {.command = Command::kPause}).outcome == Outcome::kAbsent);
}

TEST_CASE("events reach the project's subscriber on another machine, and no other one",
          "[server][net]") {
    const TemporaryDirectory folder;
    const TemporaryDirectory empty;
    Pair pair{folder.path()};
    const auto places = [&](const KeyPair& key) {
        return Places{[end = pair.as(key), here = empty.path()] {
            return std::vector<Place>{here, end};
        }};
    };
    Subscriber project{places(pair.project)};
    Subscriber stranger{places(KeyPair::generate())};
    pair.end.happen(step(1));
    REQUIRE(reaches(project, pair.end.picture()));
    for (std::uint64_t i = 2; i < 200; ++i) pair.end.happen(step(i));
    REQUIRE(reaches(project, pair.end.picture()));
    CHECK(stranger.wait(50ms) == Change::kAway);
    CHECK(stranger.wait(50ms) == Change::kNothing);

    // The run's own backbone is back, and is followed again.
    BackboneEnd own{empty.path(), 9};
    own.happen(step(1));
    REQUIRE(reaches(project, own.picture()));
    own.happen(step(2));
    REQUIRE(reaches(project, own.picture()));
}

TEST_CASE("strangers at the port of the control plane are turned away and harm no other",
          "[server][net]") {
    platform::raise_descriptor_limit();
    const TemporaryDirectory folder;
    Pair pair{folder.path()};
    const std::array<std::uint16_t, 2> ports{
        pair.access.listen.port, static_cast<std::uint16_t>(pair.access.listen.port + 1)};
    // Garbage, and the beginning of ZeroMQ's greeting with garbage after it.
    Random random{5};
    const std::string greeting{"\xff\0\0\0\0\0\0\0\1\x7f\3\1CURVE", 17};
    for (std::size_t i = 0; i < 400; ++i) {
        const int socket = connect_to(ports[i % 2]);
        REQUIRE(socket >= 0);
        std::string bytes(random.below(300), '\0');
        for (char& c : bytes) c = static_cast<char>(random.below(256));
        send_bytes(socket, (i % 4 < 2 ? std::string{} : greeting) + bytes);
        ::close(socket);
    }
    // Silent ones, and slow ones that send a byte now and then.
    std::vector<int> strangers;
    for (std::size_t i = 0; i < 1'000; ++i) strangers.push_back(connect_to(ports[i % 2]));
    REQUIRE(std::ranges::count(strangers, -1) == 0);
    const auto began = Clock::now();
    double slowest = 0;
    auto left = static_cast<std::ptrdiff_t>(strangers.size());
    for (std::size_t sent = 0; left > 0 && Clock::now() < began + 15s; ++sent) {
        const auto asked = Clock::now();
        CHECK(answers(pair));
        slowest = std::max(slowest, std::chrono::duration<double>(Clock::now() - asked).count());
        for (std::size_t i = 0; i < 500; ++i) {
            send_bytes(strangers[i], greeting.substr(sent % greeting.size(), 1));
        }
        std::this_thread::sleep_for(200ms);
        left = std::ranges::count_if(strangers, [](int socket) { return !is_closed(socket); });
    }
    WARN("1,000 strangers were turned away after "
         << std::chrono::duration<double>(Clock::now() - began).count()
         << " s; the project's slowest answer took " << slowest << " s");
    CHECK(left == 0);
    for (const int socket : strangers) ::close(socket);
    CHECK(answers(pair));
}
