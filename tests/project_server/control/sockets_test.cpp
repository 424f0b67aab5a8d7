#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "project_server/control/client.hpp"
#include "project_server/control/sockets.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::control;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using Change = Subscriber::Change;

/// Waits until the subscriber has the end's picture.
bool reaches(Subscriber& subscriber, const BackboneEnd& end, std::chrono::seconds limit = 20s) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < until) {
        (void)subscriber.wait(50ms);
        if (subscriber.is_live() && subscriber.picture() == end.picture()) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a subscriber gets the picture, every event, and notices restarts", "[server][net]") {
    const TemporaryDirectory folder;
    Subscriber subscriber{folder.path()};
    CHECK(subscriber.wait(50ms) == Change::kAway);
    CHECK(subscriber.wait(50ms) == Change::kNothing);
    {
        BackboneEnd end{folder.path()};
        end.happen(step(1));
        REQUIRE(reaches(subscriber, end));
        for (std::uint64_t i = 2; i < 50; ++i) end.happen(step(i));
        REQUIRE(reaches(subscriber, end));
    }
    // Another session, whose sequence numbers are lower.
    BackboneEnd end{folder.path(), 6};
    end.happen(step(7));
    REQUIRE(reaches(subscriber, end));
    CHECK(subscriber.picture().session == 6);
}

TEST_CASE("a slow subscriber delays no other, loses events, and then has the picture again",
          "[server][net]") {
    const TemporaryDirectory folder;
    BackboneEnd end{folder.path()};
    Subscriber slow{folder.path()};
    Subscriber quick{folder.path()};
    end.happen(step(1));
    REQUIRE(reaches(slow, end));
    REQUIRE(reaches(quick, end));
    const int asked = end.asked();
    // More than all buffers on the way can hold.
    const std::string text(500, 'x');
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < 20'000; ++i)
        end.happen(Suspicion{.key = key(i), .what = "x", .text = text});
    const auto took = std::chrono::steady_clock::now() - began;
    INFO("20,000 events in " << std::chrono::duration<double>(took).count() << " s");
    CHECK(took < 20s);
    REQUIRE(reaches(quick, end));
    REQUIRE(reaches(slow, end));
    CHECK(end.asked() > asked);
}

TEST_CASE("messages that cannot be read change nothing", "[server][net]") {
    const TemporaryDirectory folder;
    BackboneEnd end{folder.path()};
    Subscriber subscriber{folder.path()};
    end.happen(step(1));
    REQUIRE(reaches(subscriber, end));
    for (const char* const text : {"", "x", "{\"version\":1}", "\xff\xfe"}) end.publish(text);
    end.publish(std::string(kMaxMessageBytes + 1, 'x'));
    end.happen(step(2));
    CHECK(reaches(subscriber, end));
    // And a request that cannot be read gets a reply.
    const SocketFolder sockets{folder.path()};
    Socket socket{Socket::Kind::kRequest};
    REQUIRE(socket.dial(sockets.path(kCommandsSocket), 5s) == Socket::Dialled::kConnected);
    REQUIRE(socket.send("{\"command\":\"pause\"}", 5s));
    const auto reply = socket.receive(5s);
    REQUIRE(reply);
    CHECK_FALSE(read_reply(*reply).is_done);
}

TEST_CASE("sockets belong to their owner, in a folder with a long name", "[server][net]") {
    const TemporaryDirectory folder;
    const auto deep = folder.path() / std::string(200, 'd');
    fs::create_directory(deep);
    const BackboneEnd end{deep};
    for (const char* const name : {kEventsSocket, kCommandsSocket}) {
        struct stat facts {};
        REQUIRE(::stat((deep / name).c_str(), &facts) == 0);
        CHECK(S_ISSOCK(facts.st_mode));
        CHECK((facts.st_mode & 0777) == 0600);
    }
    CHECK(ask(deep, {.command = Command::kSnapshot}).outcome == Outcome::kAnswered);
    CHECK_THROWS_AS(BackboneEnd{deep}, IoError);  // another process works here
    CHECK(ask(deep, {.command = Command::kSnapshot}).outcome == Outcome::kAnswered);
    CHECK(ask(folder.path(), {.command = Command::kPause}).outcome == Outcome::kAbsent);
    CHECK_THROWS_AS(ask(deep / "none", {.command = Command::kPause}), InputError);
}

TEST_CASE("sockets end at once and leave their path free, again and again", "[server][net]") {
    const TemporaryDirectory folder;
    for (std::uint64_t session = 1; session <= 200; ++session) {
        BackboneEnd end{folder.path(), session};
        Subscriber subscriber{folder.path()};
        end.happen(step(session));
        REQUIRE(subscriber.wait(20s) == Change::kSnapshot);
        end.happen(step(session + 1));
        REQUIRE(ask(folder.path(), {.command = Command::kSnapshot}).outcome == Outcome::kAnswered);
    }
}

TEST_CASE("requests are answered side by side, and each client gets its own reply",
          "[server][net]") {
    const TemporaryDirectory folder;
    const SocketFolder sockets{folder.path()};
    std::promise<void> is_free;
    const std::shared_future<void> free = is_free.get_future().share();
    const Replier replier{sockets.path(kCommandsSocket), 2, [free](const std::string& text) {
                              if (text == "wait") free.wait();
                              return "reply to " + text;
                          }};
    const auto dialled = [&] {
        auto socket = std::make_unique<Socket>(Socket::Kind::kRequest);
        REQUIRE(socket->dial(sockets.path(kCommandsSocket), 5s) == Socket::Dialled::kConnected);
        return socket;
    };
    const auto slow = dialled();
    REQUIRE(slow->send("wait", 5s));
    for (int i = 0; i < 20; ++i) {
        const auto quick = dialled();
        REQUIRE(quick->send(std::to_string(i), 5s));
        CHECK(quick->receive(5s) == "reply to " + std::to_string(i));
    }
    CHECK_FALSE(slow->receive(0s));
    is_free.set_value();
    CHECK(slow->receive(5s) == "reply to wait");
}

TEST_CASE("a process that listens and says nothing is not taken for an absent one",
          "[server][net]") {
    const TemporaryDirectory folder;
    const SocketFolder sockets{folder.path()};
    const int silent = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    sockets.path(kCommandsSocket).copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(silent, 4) == 0);
    CHECK(ask(folder.path(), {.command = Command::kPause}, 100ms).outcome == Outcome::kUnknown);
    CHECK_THROWS_AS(BackboneEnd{folder.path()}.asked(), IoError);
    ::close(silent);
    CHECK(ask(folder.path(), {.command = Command::kPause}, 100ms).outcome == Outcome::kAbsent);
}
