// The control plane between machines: who reaches a voter, and what strangers can do.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"
#include "project_server/control/client.hpp"
#include "project_server/control/tunnel.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/ssh_server.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::control;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using Change = Subscriber::Change;
using Clock = std::chrono::steady_clock;

/// A voter on another machine, which has an SSH server.
struct Elsewhere {
    RemoteEnd voter() const { return parse_remote_end(server.url(folder.path()), "test"); }
    Outcome asked(const RemoteEnd& end) const {
        return ask(end, {.command = Command::kSnapshot}, 2s).outcome;
    }
    Outcome asked() const { return asked(voter()); }
    /// The answer, however busy this machine is. `began`: when the command that is answered began.
    Answer answer(Command command = Command::kSnapshot, Clock::time_point* began = nullptr) const {
        const auto until = Clock::now() + 60s;
        for (;;) {
            if (began) *began = Clock::now();
            Answer answer = ask(voter(), {.command = command});
            if (answer.outcome == Outcome::kAnswered || Clock::now() >= until) return answer;
        }
    }

    SshServer server;
    const TemporaryDirectory folder;
};

/// A connection of a stranger to a socket; -1: refused.
int connect_to(const fs::path& path) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
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

bool reaches(Subscriber& subscriber, const Snapshot& picture,
             std::chrono::seconds limit = std::chrono::seconds{60}) {
    const auto until = Clock::now() + limit;
    while (Clock::now() < until) {
        (void)subscriber.wait(50ms);
        if (subscriber.is_live() && subscriber.picture() == picture) return true;
    }
    return false;
}

/// Bytes after which a listener of nng knows that this is no client of its own.
std::string garbage(Random& random) {
    std::string bytes(random.below(300), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    return bytes;
}

}  // namespace

TEST_CASE("the address of a voter on another machine is read as it was written, or refused",
          "[server]") {
    for (const char* const text :
         {"ssh://dedloc@voter.example.org/home/dedloc/voter", "ssh://a_b@10.0.0.7:2222/v",
          "ssh://dedloc@[2001:db8::1]:4100/v", "ssh://dedloc@[2001:db8::1]/v"}) {
        CHECK(parse_remote_end(text, "test").text() == text);
    }
    CHECK(parse_remote_end("ssh://a@b/c/", "test").folder == "/c");
    const std::string letters(200, 'x');
    for (const std::string& text : {std::string{},
                                    std::string{"host:4100"},
                                    std::string{"ssh://host/v"},
                                    std::string{"ssh://a@host"},
                                    std::string{"ssh://@host/v"},
                                    std::string{"ssh://a@/v"},
                                    std::string{"ssh://a@host:0/v"},
                                    std::string{"ssh://a@host:65536/v"},
                                    std::string{"ssh://a@host:/v"},
                                    std::string{"ssh://a@host:12x/v"},
                                    std::string{"ssh://-oProxyCommand=x@host/v"},
                                    std::string{"ssh://a@-oProxyCommand=x/v"},
                                    std::string{"ssh://a@[::1/v"},
                                    std::string{"ssh://a@[::1]22/v"},
                                    std::string{"ssh://a@host/v:w"},
                                    std::string{"ssh://a@host/${HOME}"},
                                    std::string{"ssh://a@host/%d"},
                                    std::string{"ssh://a@host/a b"},
                                    std::string{"ssh://a@host/a\nb"},
                                    std::string{"ssh:/a@host/v"},
                                    std::string{"ssh:///a@host/v"},
                                    std::string{"ssh:a@host/v"},
                                    std::string{"ssh://a:b@host/v"},
                                    std::string{"ssh://a:@host/v"},
                                    std::string{"ssh://a@b@host/v"},
                                    std::string{"ssh://a%41@host/v"},
                                    std::string{"ssh://a@h%6Fst/v"},
                                    std::string{"ssh://a@host/v?"},
                                    std::string{"ssh://a@host/v#"},
                                    std::string{"ssh://a@host?/v"},
                                    std::string{"ssh://a@[fe80::1%25eth0]/v"},
                                    "ssh://a@host/" + letters}) {
        INFO(text);
        CHECK_THROWS_WITH(parse_remote_end(text, "test"), Catch::StartsWith("test: "));
    }
}

TEST_CASE("a voter on another machine is reached with the account's key and the host's key only",
          "[server][net]") {
    const Elsewhere elsewhere;
    CHECK(elsewhere.asked() == Outcome::kAbsent);  // no backbone works there
    BackboneEnd end{elsewhere.folder.path()};
    end.happen(step(1));
    const auto answer = elsewhere.answer();
    REQUIRE(answer.outcome == Outcome::kAnswered);
    CHECK(answer.reply.snapshot == end.picture());

    // Only this user reaches the socket that ssh makes here, and nothing is left of it.
    fs::path here;
    {
        Tunnel tunnel{elsewhere.voter()};
        REQUIRE(tunnel.wait(60s));
        here = tunnel.folder();
        CHECK((fs::status(here).permissions() & fs::perms::all) == fs::perms::owner_all);
        CHECK((fs::status(here / kCommandsSocket).permissions() & fs::perms::all) ==
              (fs::perms::owner_read | fs::perms::owner_write));
    }
    CHECK_FALSE(fs::exists(here));

    const int asked = end.asked();
    // Another host has the address: its key is not the one that is known.
    const fs::path hosts = elsewhere.server.folder() / "known_hosts";
    const std::string known = platform::read_text(hosts);
    const std::string port = std::to_string(elsewhere.server.port());
    const std::string user_key = platform::read_text(elsewhere.server.folder() / "user_key.pub");
    for (const std::string& other : {std::string{}, "[127.0.0.1]:" + port + " " + user_key}) {
        std::ofstream{hosts} << other;
        CHECK(elsewhere.asked() == Outcome::kAbsent);
    }
    std::ofstream{hosts} << known;
    // An account that does not have the client's key.
    const fs::path accounts = elsewhere.server.folder() / "authorized_keys";
    const std::string authorized = platform::read_text(accounts);
    std::ofstream{accounts} << "";
    CHECK(elsewhere.asked() == Outcome::kAbsent);
    std::ofstream{accounts} << authorized;
    // Nothing listens there, and there is no such name.
    RemoteEnd nowhere = elsewhere.voter();
    nowhere.port = platform::free_port("127.0.0.1");
    CHECK(elsewhere.asked(nowhere) == Outcome::kAbsent);
    nowhere.host = "no.such.name.invalid";
    CHECK(elsewhere.asked(nowhere) == Outcome::kAbsent);
    CHECK(end.asked() == asked);
    CHECK(elsewhere.answer().outcome == Outcome::kAnswered);
    // The socket of this machine needs no ssh.
    CHECK(ask(elsewhere.folder.path(), {.command = Command::kSnapshot}).outcome ==
          Outcome::kAnswered);
}

TEST_CASE(
    "events of a voter on another machine reach the project, and its own backbone is "
    "followed again",
    "[server][net]") {
    const Elsewhere elsewhere;
    const TemporaryDirectory empty;
    BackboneEnd end{elsewhere.folder.path()};
    Subscriber subscriber{Places{[voter = elsewhere.voter(), here = empty.path()] {
        return std::vector<Place>{here, voter};
    }}};
    end.happen(step(1));
    REQUIRE(reaches(subscriber, end.picture()));
    for (std::uint64_t i = 2; i < 200; ++i) end.happen(step(i));
    REQUIRE(reaches(subscriber, end.picture()));

    BackboneEnd own{empty.path(), 9};
    own.happen(step(1));
    REQUIRE(reaches(subscriber, own.picture()));
    own.happen(step(2));
    REQUIRE(reaches(subscriber, own.picture()));
}

TEST_CASE("a pause reaches a voter on another machine, and is seen here", "[server][net]") {
    const Elsewhere elsewhere;
    BackboneEnd end{elsewhere.folder.path()};
    Subscriber subscriber{
        Places{[voter = elsewhere.voter()] { return std::vector<Place>{voter}; }}};
    end.happen(step(1));
    REQUIRE(reaches(subscriber, end.picture()));

    // Each command logs in by ssh; the event comes back through the subscriber's own ssh.
    double slowest_there = 0;
    double slowest_back = 0;
    const auto seconds = [](Clock::duration took) {
        return std::chrono::duration<double>(took).count();
    };
    for (const Command command : {Command::kPause, Command::kResume, Command::kPause,
                                  Command::kResume, Command::kPause, Command::kResume}) {
        Clock::time_point began;
        REQUIRE(elsewhere.answer(command, &began).outcome == Outcome::kAnswered);
        REQUIRE(reaches(subscriber, end.picture()));
        slowest_back = std::max(slowest_back, seconds(Clock::now() - began));
        slowest_there = std::max(slowest_there, seconds(end.told_at() - began));
        CHECK(subscriber.picture().state ==
              (command == Command::kPause ? RunState::kPaused : RunState::kRunning));
    }
    WARN("the slowest of 6 commands reached the voter after "
         << slowest_there << " s, and its effect was seen after " << slowest_back << " s");
}

TEST_CASE("a voter on another machine is followed again once its SSH server is back",
          "[server][net]") {
    Elsewhere elsewhere;
    BackboneEnd end{elsewhere.folder.path()};
    Subscriber subscriber{
        Places{[voter = elsewhere.voter()] { return std::vector<Place>{voter}; }}};
    end.happen(step(1));
    REQUIRE(reaches(subscriber, end.picture()));

    elsewhere.server.stop();
    const auto until = Clock::now() + 60s;
    bool is_away = false;
    while (!is_away && Clock::now() < until) is_away = subscriber.wait(50ms) == Change::kAway;
    CHECK(is_away);
    CHECK(elsewhere.asked() == Outcome::kAbsent);
    end.happen(step(2));
    CHECK_FALSE(reaches(subscriber, end.picture(), 1s));

    elsewhere.server.start();
    CHECK(reaches(subscriber, end.picture()));
    end.happen(step(3));
    CHECK(reaches(subscriber, end.picture()));
}

TEST_CASE("a backbone that is slow to accept connections is not absent", "[server][net]") {
    const TemporaryDirectory folder;
    const std::string path = (folder.path() / kCommandsSocket).string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const Request request{.command = Command::kSnapshot};
    CHECK(ask(folder.path(), request, 1s).outcome == Outcome::kAbsent);  // nothing listens

    // Its backlog holds one connection: no other one can be made.
    REQUIRE(::listen(listener, 0) == 0);
    const int first = connect_to(path);
    REQUIRE(first >= 0);
    CHECK(ask(folder.path(), request, 1s).outcome == Outcome::kUnknown);
    ::close(first);
    ::close(listener);
    CHECK(ask(folder.path(), request, 1s).outcome == Outcome::kAbsent);
}

TEST_CASE("processes that speak nonsense to the sockets, or nothing, harm no other",
          "[server][net]") {
    platform::raise_descriptor_limit();
    const TemporaryDirectory folder;
    BackboneEnd end{folder.path()};
    end.happen(step(1));
    const auto answers = [&] {
        return ask(folder.path(), {.command = Command::kSnapshot}).outcome == Outcome::kAnswered;
    };
    const std::array<fs::path, 2> paths{folder.path() / kCommandsSocket,
                                        folder.path() / kEventsSocket};
    // Garbage, and a good greeting of nng's (SP, its number for req or sub) with garbage after it.
    Random random{5};
    const std::array<std::string, 2> greetings{std::string{"\0SP\0\0\x30\0\0", 8},
                                               std::string{"\0SP\0\0\x21\0\0", 8}};
    for (std::size_t i = 0; i < 400; ++i) {
        const int socket = connect_to(paths[i % 2]);
        REQUIRE(socket >= 0);
        send_bytes(socket, (i % 4 < 2 ? std::string{} : greetings[i % 2]) + garbage(random));
        ::close(socket);
    }
    CHECK(answers());
    // Silent ones, and slow ones that send a byte now and then.
    std::vector<int> strangers;
    for (std::size_t i = 0; i < 1'000; ++i) strangers.push_back(connect_to(paths[i % 2]));
    REQUIRE(std::ranges::count(strangers, -1) == 0);
    const auto began = Clock::now();
    double slowest = 0;
    auto left = static_cast<std::ptrdiff_t>(strangers.size());
    for (std::size_t sent = 0; left > 0 && Clock::now() < began + 120s; ++sent) {
        const auto asked = Clock::now();
        CHECK(answers());
        slowest = std::max(slowest, std::chrono::duration<double>(Clock::now() - asked).count());
        if (sent % 10 == 0) {
            for (std::size_t i = 0; i < 500; ++i) {
                send_bytes(strangers[i], std::string(1, '\0'));
            }
        }
        std::this_thread::sleep_for(200ms);
        left = std::ranges::count_if(strangers, [](int socket) { return !is_closed(socket); });
    }
    WARN("1,000 silent connections were closed after "
         << std::chrono::duration<double>(Clock::now() - began).count()
         << " s; the slowest answer took " << slowest << " s");
    CHECK(left == 0);
    for (const int socket : strangers) ::close(socket);
    CHECK(answers());
}
