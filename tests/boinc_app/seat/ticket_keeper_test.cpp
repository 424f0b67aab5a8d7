// A ticket is requested, and renewed before it expires, over HTTP from a simulated gateway.
#include <httplib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "boinc_app/seat/ticket_keeper.hpp"

namespace dedloc::seat {
namespace {

using namespace std::chrono_literals;

formats::UtcSeconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// Answers every request with a new ticket, or with the refusal that the test has set.
class PlayedGateway {
  public:
    PlayedGateway() : port_(server_.bind_to_any_port("127.0.0.1")) {
        server_.Post("/dedloc/enrol",
                     [this](const httplib::Request& request, httplib::Response& response) {
                         const std::lock_guard lock(mutex_);
                         ++asked_;
                         changed_.notify_all();
                         if (in_front_ && in_front_->first != 0) {
                             response.status = in_front_->first;
                             if (response.status / 100 == 3)
                                 response.set_header("Location", "/login");
                             response.set_content(in_front_->second, "text/html");
                             return;
                         }
                         if (!refusal_.empty()) {
                             response.status = 403;
                             response.set_content(formats::write_enrolment_refusal(refusal_),
                                                  "application/json");
                             return;
                         }
                         const auto wanted = formats::parse_enrolment_request(request.body);
                         ports_.push_back(wanted.port);
                         response.set_content(answer(wanted), "application/json");
                     });
        thread_ = std::thread([this] { server_.listen_after_bind(); });
    }
    ~PlayedGateway() {
        while (!server_.is_running()) std::this_thread::yield();
        server_.stop();
        thread_.join();
    }
    PlayedGateway(const PlayedGateway&) = delete;
    PlayedGateway& operator=(const PlayedGateway&) = delete;

    net::EnrolmentOptions options() const {
        return {.gateway = "http://127.0.0.1:" + std::to_string(port_) + "/dedloc/",
                .request = {.authenticator = "secret",
                            .host = 1,
                            .result = "first_1_0",
                            .key = peer_.public_key(),
                            .port = 0},
                .project = project_.public_key(),
                .run = {},
                .first_pause = 20ms,
                .timeout = 5s};
    }
    void refuse(const std::string& sentence) {
        const std::lock_guard lock(mutex_);
        refusal_ = sentence;
    }
    /// Something in front of the gateway answers instead of it.
    void stand_behind(int status, const std::string& body) {
        const std::lock_guard lock(mutex_);
        in_front_ = {status, body};
    }
    /// The gateway's clock is ahead of this one's by so much.
    void set_ahead(std::chrono::seconds ahead) {
        const std::lock_guard lock(mutex_);
        ahead_ = ahead;
    }
    bool await_questions(int count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 20s, [&] { return asked_ >= count; });
    }
    int asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    /// The ports that the requests have named.
    std::vector<std::uint16_t> ports() {
        const std::lock_guard lock(mutex_);
        return ports_;
    }

  private:
    std::string answer(const formats::EnrolmentRequest& request) const {
        const formats::Ticket ticket{.run = {},
                                     .peer = request.key,
                                     .job = {.user = 1, .host = 1, .result = 1},
                                     .issued = now() + ahead_,
                                     .expires = now() + ahead_ + 1h};
        return formats::write_enrolment_reply(
            {.ticket = formats::sign(ticket, project_),
             .address = "127.0.0.1",
             .is_reachable = false,
             .revoked = formats::sign(formats::Revocations{}, project_)});
    }

    const KeyPair project_ = KeyPair::generate();
    const KeyPair peer_ = KeyPair::generate();
    httplib::Server server_;
    const int port_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int asked_ = 0;
    std::vector<std::uint16_t> ports_;
    std::string refusal_;
    std::optional<std::pair<int, std::string>> in_front_;  ///< status, 0: none; and body
    std::chrono::seconds ahead_{0};
    std::thread thread_;
};

/// The tickets that a keeper has delivered.
class Tickets {
  public:
    std::function<void(const formats::EnrolmentReply&)> sink() {
        return [this](const formats::EnrolmentReply& reply) {
            const std::lock_guard lock(mutex_);
            tickets_.push_back(reply.ticket);
            changed_.notify_all();
        };
    }
    bool await(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 20s, [&] { return tickets_.size() >= count; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<formats::SignedTicket> tickets_;
};

TEST_CASE("a ticket is renewed until the gateway refuses", "[boinc]") {
    PlayedGateway gateway;
    Tickets tickets;
    TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()},
                        {.shortest = 1s, .longest = 1s});
    REQUIRE(tickets.await(3));
    CHECK(keeper.news().first);
    CHECK_FALSE(keeper.news().refusal);
    gateway.refuse("the job first_1_0 is over");
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!keeper.news().refusal && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(10ms);
    }
    CHECK(keeper.news().refusal == "the job first_1_0 is over");
    const int asked = gateway.asked();
    std::this_thread::sleep_for(1500ms);
    CHECK(gateway.asked() == asked);
}

TEST_CASE("a computer whose clock is wrong is told, and not refused for good", "[boinc]") {
    PlayedGateway gateway;
    Tickets tickets;
    gateway.set_ahead(1h);
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    {
        TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()});
        while (!keeper.news().failure && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(10ms);
        }
        CHECK(keeper.news().failure ==
              "this computer's clock is 60 minutes behind the project's: peers would take no "
              "ticket");
        CHECK_FALSE(keeper.news().refusal);
    }
    gateway.set_ahead(0s);
    TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()});
    CHECK(tickets.await(1));
}

TEST_CASE("what answers in front of the gateway ends no job: it is asked again", "[boinc]") {
    const std::string page = "<html><title>Not here</title><p>Sign in to this network.</html>";
    const auto [status, body] = GENERATE_COPY(
        std::pair{404, page}, std::pair{404, std::string{R"({"error":"no such path"})"}},
        std::pair{200, page}, std::pair{200, std::string{"{}"}}, std::pair{200, std::string{}},
        std::pair{302, page}, std::pair{401, page}, std::pair{403, page},
        std::pair{403, std::string{R"({"error":"requests come through the web server"})"}},
        std::pair{403, std::string{R"({"error":{"code":403},"refused":true})"}},
        std::pair{410, std::string{"null"}}, std::pair{413, page}, std::pair{502, page},
        std::pair{503, page}, std::pair{511, page});
    INFO(status << ' ' << body);
    PlayedGateway gateway;
    gateway.stand_behind(status, body);
    auto options = gateway.options();
    options.timeout = 100ms;
    {
        TicketKeeper keeper(options, {.has_ticket = [](const auto&) {}});
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!keeper.news().failure && !keeper.news().refusal &&
               std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(10ms);
        }
        CHECK_FALSE(keeper.news().refusal);
        REQUIRE(keeper.news().failure);  // the seat then ends with a temporary exit
        CHECK(keeper.news().failure->find('\n') == std::string::npos);
        CHECK_THAT(*keeper.news().failure, Catch::Contains("cannot be asked for a ticket"));
    }
    CHECK(gateway.asked() > 1);
    gateway.stand_behind(0, "");
    Tickets tickets;
    TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()});
    CHECK(tickets.await(1));
}

TEST_CASE("without a free seat the first request fails at once, and a renewal is tried again",
          "[boinc]") {
    PlayedGateway gateway;
    Tickets tickets;
    const std::string full = formats::write_enrolment_full("this account has as many as it may");
    gateway.stand_behind(503, full);
    {
        auto options = gateway.options();
        options.timeout = 600s;
        TicketKeeper keeper(options, {.has_ticket = tickets.sink()});
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!keeper.news().failure && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(10ms);
        }
        // The seat ends with a temporary exit, whose reason this is.
        CHECK(keeper.news().failure ==
              "the project has no seat for this job now: this account has as many as it may");
        CHECK_FALSE(keeper.news().refusal);
    }
    CHECK(gateway.asked() == 1);
    gateway.stand_behind(0, "");
    TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()},
                        {.shortest = 1s, .longest = 1s});
    REQUIRE(tickets.await(1));
    gateway.stand_behind(503, full);
    const int asked = gateway.asked();
    REQUIRE(gateway.await_questions(asked + 1));
    CHECK_FALSE(keeper.news().failure);
    CHECK_FALSE(keeper.news().refusal);
}

TEST_CASE("a paused keeper sends no requests, and sends a due one when resumed", "[boinc]") {
    PlayedGateway gateway;
    Tickets tickets;
    TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()},
                        {.shortest = 1s, .longest = 2s});
    REQUIRE(tickets.await(1));
    keeper.pause(true);
    const int asked = gateway.asked();
    std::this_thread::sleep_for(2500ms);
    CHECK(gateway.asked() == asked);
    keeper.pause(false);
    CHECK(gateway.await_questions(asked + 1));
}

TEST_CASE("a keeper with the default pace sends one request, and stops at once", "[boinc]") {
    PlayedGateway gateway;
    Tickets tickets;
    {
        TicketKeeper keeper(gateway.options(), {.has_ticket = tickets.sink()});
        REQUIRE(tickets.await(1));
    }  // waits for no pace, which is minutes: the program's own time limit would end it
    CHECK(gateway.asked() == 1);
}

TEST_CASE("each request names the present port, and the next one can be hurried", "[boinc]") {
    PlayedGateway gateway;
    Tickets tickets;
    std::atomic<std::uint16_t> port = 4'000;
    TicketKeeper keeper(
        gateway.options(),
        {.has_ticket = tickets.sink(), .port = [&port](const auto&) { return port.load(); }},
        {.shortest = 1h, .longest = 1h, .min = 1s});
    keeper.ask_soon(0s);  // too early: nothing
    REQUIRE(tickets.await(1));
    for (std::size_t count = 2; count <= 3; ++count) {
        while (keeper.news().tickets < count - 1) std::this_thread::yield();
        ++port;
        keeper.ask_soon(0s);
        REQUIRE(tickets.await(count));
    }
    CHECK(gateway.ports() == std::vector<std::uint16_t>{4'000, 4'001, 4'002});
    CHECK_FALSE(keeper.news().is_reachable);
}

}  // namespace
}  // namespace dedloc::seat
