// Server-sent events: what a browser gets at first, afterwards, and when it returns.
#include <httplib.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "peer/base/bytes.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "project_server/http/http_setup.hpp"
#include "project_server/web/live_events.hpp"
#include "tests/project_server/control/backbone_end.hpp"
#include "tests/project_server/control/samples.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::server;
using namespace std::chrono_literals;

namespace {

/// A server whose project has a run, and the run's backbone.
class World {
  public:
    World() {
        std::filesystem::create_directories(folder());
        platform::replace_file(folder() / "run.json", "{}");
        set_up(server_, 8 + kMaxStreams, 1'000);
        events_.add_route(server_, "/p");
        running_.bind("127.0.0.1", 0);
        thread_ = std::thread{[this] { running_.run(); }};
    }
    ~World() {
        events_.stop();
        running_.stop();
        thread_.join();
    }
    std::filesystem::path folder() const { return folder_.path() / "first"; }
    int port() const { return running_.port(); }

  private:
    const TemporaryDirectory folder_;
    LiveEvents events_{folder_.path()};
    httplib::Server server_;
    HttpRun running_{server_};
    std::thread thread_;
};

/// A browser's stream.
class Stream {
  public:
    Stream(const World& world, httplib::Headers headers, const std::string& run = "first")
        : client_("127.0.0.1", world.port()) {
        client_.set_read_timeout(60s);
        thread_ = std::thread{[this, headers = std::move(headers), run] {
            const auto result = client_.Get(("/p/api/run/" + run + "/events").c_str(), headers,
                                            [this](const httplib::Response& response) {
                                                set([&] { status_ = response.status; });
                                                return response.status == 200;
                                            },
                                            [this](const char* data, std::size_t size) {
                                                set([&] { text_.append(data, size); });
                                                return !is_closed_;
                                            });
            set([&] { is_closed_ = true; });
        }};
    }
    ~Stream() {
        is_closed_ = true;
        client_.stop();
        thread_.join();
    }
    /// Waits until the stream has this text.
    bool has(const std::string& text) {
        return await([&] { return text_.find(text) != std::string::npos; });
    }
    int status() {
        await([&] { return status_ != 0; });
        return status_;
    }
    std::string text() {
        const std::lock_guard lock{mutex_};
        return text_;
    }
    /// The id of the last event so far.
    std::string last_id() {
        const std::string all = text();
        const auto at = all.rfind("id: ") + 4;
        return all.substr(at, all.find('\n', at) - at);
    }

  private:
    template <class Change>
    void set(const Change& change) {
        {
            const std::lock_guard lock{mutex_};
            change();
        }
        changed_.notify_all();
    }
    template <class Condition>
    bool await(const Condition& condition) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, 30s, condition);
    }
    httplib::Client client_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string text_;
    int status_ = 0;
    std::atomic<bool> is_closed_ = false;
    std::thread thread_;
};

control::Happening step(std::uint64_t number) {
    return control::StepCommitted{{.step = number, .samples = 1, .digest = {}}};
}

/// One client of each network.
httplib::Headers from(int network) {
    return {{"X-Forwarded-For", std::to_string(network) + ".0.2.1"}};
}

}  // namespace

TEST_CASE("a browser gets the picture, every event, and what it missed", "[server][net]") {
    World world;
    control::BackboneEnd backbone{world.folder()};
    backbone.happen(step(1));
    std::string last;
    {
        Stream stream{world, from(1)};
        REQUIRE(stream.has("event: snapshot\ndata: {\"version\":1,"));
        backbone.happen(step(2));
        REQUIRE(stream.has("event: step\ndata: {"));
        CHECK(stream.has("\"step\":2,"));
        last = stream.last_id();
    }
    backbone.happen(step(3));
    Stream again{world, {{"Last-Event-ID", last}}};
    REQUIRE(again.has("\"step\":3,"));
    CHECK(again.text().find("snapshot") == std::string::npos);
    Stream unknown{world, {{"Last-Event-ID", "1-1"}}};
    CHECK(unknown.has("event: snapshot"));
    // The event does not name the peer's owner.
    backbone.happen(control::MemberJoined{{.key = control::key(1), .user = 77}});
    REQUIRE(again.has("event: joined"));
    CHECK(again.text().find("77") == std::string::npos);
}

TEST_CASE("a stream does not say who is under suspicion", "[server][net]") {
    World world;
    control::BackboneEnd backbone{world.folder()};
    Stream stream{world, from(1)};
    REQUIRE(stream.has("event: snapshot"));
    backbone.happen(step(1));
    REQUIRE(stream.has("\"step\":1,"));
    const std::string last = stream.last_id();
    const std::string accused = to_hex(control::key(9).bytes);
    backbone.happen(control::Suspicion{
        .key = control::key(9), .what = "sends other bytes", .text = "9 sends other bytes"});
    backbone.happen(step(2));
    REQUIRE(stream.has("\"step\":2,"));
    Stream again{world, {{"Last-Event-ID", last}}};
    REQUIRE(again.has("\"step\":2,"));
    Stream another{world, from(2)};
    REQUIRE(another.has("\"step\":2,"));
    for (Stream* const any : {&stream, &again, &another}) {
        CHECK_THAT(any->text(), !Catch::Contains("suspicion") && !Catch::Contains(accused) &&
                                    !Catch::Contains("sends other bytes"));
    }
}

TEST_CASE("a stream says when the backbone is away, and goes on when it is back", "[server][net]") {
    World world;
    Stream stream{world, from(1)};
    REQUIRE(stream.has("event: away\n"));
    control::BackboneEnd backbone{world.folder(), 9};
    backbone.happen(step(5));
    CHECK(stream.has("\"session\":9"));
}

TEST_CASE("streams are limited, for each address and together, and unknown runs have none",
          "[server][net]") {
    World world;
    const control::BackboneEnd backbone{world.folder()};
    CHECK(Stream(world, from(1), "second").status() == 404);
    std::vector<std::unique_ptr<Stream>> streams;
    const auto add = [&](int network) {
        streams.push_back(std::make_unique<Stream>(world, from(network)));
        return streams.back()->status();
    };
    for (std::size_t i = 0; i < kMaxStreamsOfAddress; ++i) CHECK(add(1) == 200);
    CHECK(add(1) == 503);
    int network = 2;
    for (std::size_t i = kMaxStreamsOfAddress; i < kMaxStreams; ++i) CHECK(add(network++) == 200);
    CHECK(add(network) == 503);
    for (const auto& stream : streams) {
        if (stream->status() == 200) CHECK(stream->has("event: snapshot"));
    }
}

TEST_CASE("viewers of live events cost little", "[.live]") {
    // Run by hand: server_pages_test "[.live]". The viewers are processes of their own.
    constexpr int kViewers = 100;
    constexpr auto kTime = 20s;
    World world;
    control::BackboneEnd backbone{world.folder()};
    for (std::uint64_t i = 0; i < 32; ++i)
        backbone.happen(control::MemberJoined{{.key = control::key(i)}});
    const TemporaryDirectory folder;
    std::string script =
        "for n in $(seq " + std::to_string(kViewers) + "); do timeout " +
        std::to_string(kTime.count()) + " curl -sN -H \"X-Forwarded-For: $n.0.2.1\" -o '" +
        folder.path().string() + "'/$n http://127.0.0.1:" + std::to_string(world.port()) +
        "/p/api/run/first/events & done; wait";
    const auto child = platform::spawn({"/bin/bash", "-c", script}, {});
    std::this_thread::sleep_for(2s);
    const auto seconds = [] {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double before = seconds();
    const auto began = std::chrono::steady_clock::now();
    std::uint64_t events = 0;
    while (std::chrono::steady_clock::now() < began + kTime - 4s) {
        backbone.happen(step(++events));
        std::this_thread::sleep_for(500ms);
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    const double share = (seconds() - before) / wall.count();
    platform::wait_for_child(child);
    std::uintmax_t bytes = 0;
    for (int n = 1; n <= kViewers; ++n) {
        bytes += std::filesystem::file_size(folder.path() / std::to_string(n));
    }
    std::printf("%d viewers, %d events in %.0f s, %ju bytes each: server %.2f %% of a core\n",
                kViewers, static_cast<int>(events), wall.count(), bytes / kViewers, 100 * share);
    CHECK(share < 0.1);
    CHECK(bytes > 100 * kViewers * events);
}
