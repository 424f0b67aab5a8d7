// A volunteer behind a router that speaks NAT-PMP: the seat asks the router for a port first, then
// names that port to the gateway, then to the swarm, and asks both again when the answer may be
// another one. Seat, DHT, sockets and networks are real; router and gateway are simulated.
#include <httplib.h>
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "boinc_app/seat/seat.hpp"
#include "boinc_app/training_worker.hpp"
#include "peer/net/dht/dht_seed.hpp"
#include "tests/boinc_app/albert_of.hpp"
#include "tests/boinc_app/runtime/played_runtime.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/integration/played_router.hpp"
#include "tests/peer/net/tcp/inbox.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kTimeout{30};

/// A request to the gateway, and whether the router forwarded that port at the time.
struct Question {
    std::uint16_t port = 0;
    bool is_reachable = false;
};

/// The street: router, gateway, DHT seed, and another peer of the run. Construct it there.
class Street {
  public:
    explicit Street(PlayedRouter::Manner manner)
        : router_(manner),
          seed_({.listen = {kRouterAddress, 0}, .address = {}, .state_file = {}}),
          port_(server_.bind_to_any_port(kRouterAddress)) {
        run_.project_key = project_.public_key();
        run_.backbone_key = KeyPair::generate().public_key();
        run_.dht_seeds = {{kRouterAddress, seed_.port()}};
        run_.gateway = "http://" + Endpoint{kRouterAddress, port()}.text() + "/dedloc/";
        server_.Post("/dedloc/enrol",
                     [this](const httplib::Request& request, httplib::Response& response) {
                         const auto asked = formats::parse_enrolment_request(request.body);
                         response.set_content(answer(asked), "application/json");
                     });
        serving_ = std::thread([this] { server_.listen_after_bind(); });
        other_ = std::make_unique<net::DhtDirectory>(
            net::DhtDirectoryOptions{.run = formats::run_id(run_),
                                     .seeds = {run_.dht_seeds.front().text()},
                                     .listen = {kRouterAddress, 0}},
            found_.sink());
        other_->join(0);
    }
    ~Street() {
        while (!server_.is_running()) std::this_thread::yield();
        server_.stop();
        serving_.join();
    }
    Street(const Street&) = delete;
    Street& operator=(const Street&) = delete;

    const formats::RunFile& run() const { return run_; }
    PlayedRouter& router() { return router_; }
    std::optional<Question> first_question() {
        return question([](const Question&) { return true; });
    }
    /// The first request so far, or a later one, for which `is_wanted` holds.
    std::optional<Question> question(const std::function<bool(const Question&)>& is_wanted) {
        std::unique_lock lock(mutex_);
        auto found = questions_.end();
        asked_.wait_for(lock, kTimeout, [&] {
            found = std::find_if(questions_.begin(), questions_.end(), is_wanted);
            return found != questions_.end();
        });
        return found != questions_.end() ? std::optional{*found} : std::nullopt;
    }
    /// The ports that all requests so far have named.
    std::vector<std::uint16_t> ports() {
        const std::lock_guard lock(mutex_);
        std::vector<std::uint16_t> ports;
        for (const Question& each : questions_) ports.push_back(each.port);
        return ports;
    }
    /// Waits for so many requests; false: they do not come.
    bool await_questions(std::size_t count) {
        std::unique_lock lock(mutex_);
        return asked_.wait_for(lock, kTimeout, [&] { return questions_.size() >= count; });
    }
    /// Waits until the router forwards no port to this one: libtorrent ends its mappings without
    /// waiting for answers, so that the request may still be on its way. False: it goes on.
    bool forgets(std::uint16_t port) const {
        const auto end = std::chrono::steady_clock::now() + kTimeout;
        while (router_.port_behind(port)) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(10ms);
        }
        return true;
    }
    /// Whether other peers of the run find the house in the DHT, at this port.
    bool finds(std::uint16_t port, const std::string& house = kHouseAddress) {
        const Endpoint wanted{house, port};
        return found_
            .next<event::EndpointsFound>(kTimeout,
                                         [&](const event::EndpointsFound& found) {
                                             return std::find(found.endpoints.begin(),
                                                              found.endpoints.end(),
                                                              wanted) != found.endpoints.end();
                                         })
            .has_value();
    }

  private:
    std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }
    std::string answer(const formats::EnrolmentRequest& asked) {
        const bool is_reachable = router_.port_behind(asked.port).has_value();
        {
            const std::lock_guard lock(mutex_);
            questions_.push_back({.port = asked.port, .is_reachable = is_reachable});
        }
        asked_.notify_all();
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        const formats::Ticket ticket{.run = formats::run_id(run_),
                                     .peer = asked.key,
                                     .job = {.user = 1, .host = 1, .result = 1},
                                     .issued = now,
                                     .expires = now + 1h};
        return formats::write_enrolment_reply(
            {.ticket = formats::sign(ticket, project_),
             .address = kRouterAddress,
             .is_reachable = is_reachable,
             .revoked = formats::sign(formats::Revocations{}, project_)});
    }

    const KeyPair project_ = KeyPair::generate();
    formats::RunFile run_ = tiny_run();
    PlayedRouter router_;
    net::DhtSeed seed_;
    httplib::Server server_;
    const int port_;
    std::mutex mutex_;
    std::condition_variable asked_;
    std::vector<Question> questions_;
    net::Inbox found_;
    std::unique_ptr<net::DhtDirectory> other_;
    std::thread serving_;
};

/// A volunteer's seat in the house, with a main thread of its own.
class SeatInHouse {
  public:
    /// `pace` is that of the ticket requests; `slot` has key and journal, if given.
    SeatInHouse(const formats::RunFile& run, bool maps_port, const seat::TicketPace& pace = {},
                const std::filesystem::path& slot = {})
        : slot_{slot.empty() ? folder_.path() : slot},
          shards_{skewed_shard(run, 1)},
          seat_(run, training_worker(run, albert_task(run, shards_), {}),
                {.key = slot_ / "peer.key",
                 .journal = slot_ / "journal",
                 .listen = {},
                 .maps_port = maps_port,
                 .ticket_pace = pace},
                runtime_),
          main_([this] { end_ = seat_.run(); }) {}
    ~SeatInHouse() {
        runtime_.ask_to_quit();
        if (main_.joinable()) main_.join();
    }
    SeatInHouse(const SeatInHouse&) = delete;
    SeatInHouse& operator=(const SeatInHouse&) = delete;

    PlayedRuntime& runtime() { return runtime_; }
    std::optional<seat::End> quit() {
        runtime_.ask_to_quit();
        main_.join();
        return end_;
    }

  private:
    TemporaryDirectory folder_;
    const std::filesystem::path slot_;
    PlayedRuntime runtime_{"first_1_0", runtime::Account{.authenticator = "secret", .host = 1}};
    const std::vector<formats::Shard> shards_;
    seat::Seat seat_;
    std::optional<seat::End> end_;
    std::thread main_;
};

/// House and street, or the reason why they cannot be created.
class PortMappingWorld {
  public:
    explicit PortMappingWorld(PlayedRouter::Manner manner) {
        std::string why;
        house_ = House::enter(why);
        if (!house_) {
            std::printf("skipped: %s\n", why.c_str());
            return;
        }
        setenv("no_proxy", kRouterAddress.c_str(), 1);
        house_->in_street([&] { street_ = std::make_unique<Street>(manner); });
    }
    /// Nothing if this machine does not allow network namespaces.
    Street* street() { return street_.get(); }
    /// Requires a street.
    const House& house() const { return *house_; }

  private:
    std::unique_ptr<House> house_;
    std::unique_ptr<Street> street_;
};

TEST_CASE("a seat with port mapping is enrolled and found at the port that the router gave",
          "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kGivesAnotherPort};
    Street* const street = world.street();
    if (street == nullptr) return;
    std::uint16_t port = 0;
    {
        SeatInHouse seat{street->run(), true};
        const auto question = street->first_question();
        REQUIRE(question);
        port = question->port;
        CHECK(question->is_reachable);
        REQUIRE(street->router().port_behind(port));
        CHECK(street->router().port_behind(port) != port);
        CHECK(street->finds(port));
        for (const bool is_suspended : {true, false}) {
            seat.runtime().suspend(is_suspended);
            std::this_thread::sleep_for(500ms);
            CHECK(street->router().port_behind(port));
        }
        CHECK(seat.quit() == seat::End::kQuit);
    }
    CHECK(street->forgets(port));
}

TEST_CASE("if the router refuses, the seat joins and announces no port",
          "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kRefuses};
    Street* const street = world.street();
    if (street == nullptr) return;
    SeatInHouse seat{street->run(), true};
    const auto question = street->first_question();
    REQUIRE(question);
    CHECK(question->port != 0);
    CHECK_FALSE(question->is_reachable);
    CHECK(street->router().was_asked());
    CHECK(seat.quit() == seat::End::kQuit);
}

TEST_CASE("without the volunteer's consent no request goes to the router",
          "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kGivesAnotherPort};
    Street* const street = world.street();
    if (street == nullptr) return;
    SeatInHouse seat{street->run(), false};
    const auto question = street->first_question();
    REQUIRE(question);
    CHECK(question->port != 0);
    CHECK(seat.quit() == seat::End::kQuit);
    CHECK_FALSE(street->router().was_asked());
}

constexpr seat::TicketPace kQuick{.shortest = 1s, .longest = 1s, .min = 0s};

TEST_CASE("a router that has forgotten the port is asked again, and the new port is announced",
          "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kGivesAnotherPort};
    Street* const street = world.street();
    if (street == nullptr) return;
    SeatInHouse seat{street->run(), true, kQuick};
    const auto first = street->first_question();
    REQUIRE(first);
    REQUIRE(first->is_reachable);
    REQUIRE(street->finds(first->port));
    street->router().restart();
    const auto later = street->question(
        [&](const Question& each) { return each.port != first->port && each.is_reachable; });
    REQUIRE(later);
    CHECK(street->router().port_behind(later->port));
    CHECK(street->finds(later->port));
    CHECK(seat.quit() == seat::End::kQuit);
}

TEST_CASE("an outbound-only seat is announced as soon as it can be dialled",
          "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kRefuses};
    Street* const street = world.street();
    if (street == nullptr) return;
    SeatInHouse seat{street->run(), true, kQuick};
    const auto first = street->first_question();
    REQUIRE(first);
    REQUIRE_FALSE(first->is_reachable);
    street->router().behave(PlayedRouter::Manner::kGivesAnotherPort);
    const auto later = street->question([](const Question& each) { return each.is_reachable; });
    REQUIRE(later);
    CHECK(street->finds(later->port));
    CHECK(seat.quit() == seat::End::kQuit);
}

TEST_CASE("on another network the router and the gateway are asked again",
          "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kGivesAnotherPort};
    Street* const street = world.street();
    if (street == nullptr) return;
    SeatInHouse seat{street->run(), true, {.shortest = 1h, .longest = 1h, .min = 0s}};
    const auto first = street->first_question();
    REQUIRE(first);
    REQUIRE(street->finds(first->port));
    const std::size_t before = street->router().mappings();
    const std::string elsewhere = "192.168.77.9";
    world.house().move_to(elsewhere);
    REQUIRE(street->await_questions(2));
    CHECK(street->router().mappings() > before);
    CHECK(street->finds(first->port, elsewhere));
    CHECK(seat.quit() == seat::End::kQuit);
}

TEST_CASE("a seat listens at the same port after a restart", "[boinc][net][integration]") {
    PortMappingWorld world{PlayedRouter::Manner::kRefuses};
    Street* const street = world.street();
    if (street == nullptr) return;
    const TemporaryDirectory slot;
    for (std::size_t start = 1; start <= 2; ++start) {
        SeatInHouse seat{street->run(), false, {}, slot.path()};
        REQUIRE(street->await_questions(start));
        CHECK(seat.quit() == seat::End::kQuit);
    }
    const auto ports = street->ports();
    CHECK(ports.front() != 0);
    CHECK(ports.front() == ports.back());
}

}  // namespace
}  // namespace dedloc::test
