// Transfers that measure the link to a gateway: arriving bytes are counted, and transfers are few.
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <semaphore>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"
#include "peer/tool/checkup.hpp"
#include "peer/tool/gateway_link.hpp"
#include "project_server/gateway/link_transfers.hpp"
#include "project_server/http/http_setup.hpp"

namespace dedloc::gateway {
namespace {

using namespace std::chrono_literals;
using httplib::ContentReader;
using httplib::Request;
using httplib::Response;

constexpr const char* kPath = "/dedloc/bandwidth";
constexpr const char* kType = "application/octet-stream";

/// An HTTP server on loopback with the routes that a test gives it.
class PlayedServer {
  public:
    explicit PlayedServer(const std::function<void(httplib::Server&)>& add_routes) {
        server::set_up(http_, 16, formats::kMaxMeasuredBytes);
        add_routes(http_);
        running_.bind("127.0.0.1", 0);
        thread_ = std::thread([this] { running_.run(); });
    }
    ~PlayedServer() {
        running_.stop();
        thread_.join();
    }
    PlayedServer(const PlayedServer&) = delete;
    PlayedServer& operator=(const PlayedServer&) = delete;

    httplib::Client client() const { return httplib::Client("127.0.0.1", running_.port()); }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(running_.port()) + "/"; }

  private:
    httplib::Server http_;
    server::HttpRun running_{http_};
    std::thread thread_;
};

/// The routes of a gateway; `on_upload` is called when an upload is about to be read.
std::function<void(httplib::Server&)> routes_of(
    LinkTransfers& transfers, const std::function<void()>& on_upload = [] {}) {
    return [&transfers, on_upload](httplib::Server& http) {
        http.set_keep_alive_max_count(1);
        http.Get(kPath, [&](const Request& request, Response& response) {
            transfers.send(request, response);
        });
        http.Post(kPath, [&transfers, on_upload](const Request& request, Response& response,
                                                 const ContentReader& content) {
            const auto read = [&](const httplib::ContentReceiver& receive) {
                on_upload();
                return content(receive);
            };
            transfers.receive(request, response, ContentReader(read, nullptr));
        });
    };
}

httplib::Headers from(const std::string& address) {
    return {{"X-Forwarded-For", address}};
}

int status_of(const httplib::Result& result) {
    REQUIRE(result);
    return result->status;
}

int download(const PlayedServer& server, const std::string& bytes,
             const std::string& address = "192.0.2.1") {
    return status_of(server.client().Get(kPath + ("?bytes=" + bytes), from(address)));
}

/// An upload that sends a byte now and then until it is told to end.
class LongUpload {
  public:
    LongUpload(const PlayedServer& server, const std::string& address)
        : result_(std::async(std::launch::async, [this, &server, address] {
              const auto send = [this](std::size_t, httplib::DataSink& sink) {
                  sent_ += sink.write("x", 1) ? 1 : 0;
                  if (must_end_) sink.done();
                  std::this_thread::sleep_for(10ms);
                  return true;
              };
              const auto result = server.client().Post(kPath, from(address), send, kType);
              return result ? formats::parse_arrival(result->body) : 0;
          })) {}
    ~LongUpload() { must_end_ = true; }
    LongUpload(const LongUpload&) = delete;
    LongUpload& operator=(const LongUpload&) = delete;

    /// The number of bytes that the gateway reports, and the number that were sent.
    std::pair<std::uint64_t, std::uint64_t> end() {
        must_end_ = true;
        const std::uint64_t arrived = result_.get();
        return {arrived, sent_};
    }

  private:
    std::atomic<bool> must_end_ = false;
    std::atomic<std::uint64_t> sent_ = 0;
    std::future<std::uint64_t> result_;  // last member: starts when the others are initialised
};

TEST_CASE("a gateway sends and counts the requested bytes, up to a limit", "[gateway]") {
    LinkTransfers transfers;
    const PlayedServer server(routes_of(transfers));
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65'537},
                                    std::size_t{formats::kMaxMeasuredBytes}}) {
        const auto down = server.client().Get(kPath + ("?bytes=" + std::to_string(bytes)));
        REQUIRE(status_of(down) == 200);
        CHECK(down->body.size() == bytes);
        const auto up = server.client().Post(kPath, std::string(bytes, 'x'), kType);
        REQUIRE(status_of(up) == 200);
        CHECK(formats::parse_arrival(up->body) == bytes);
    }
    for (const std::string wrong : {"", "-1", "1x", "8388609", "99999999999999999999"}) {
        CHECK(download(server, wrong) == 400);
    }
    const std::string block(1 << 20, 'x');
    std::size_t blocks = 0;
    const auto endless = [&](std::size_t, httplib::DataSink& sink) {
        if (++blocks > 9) sink.done();
        return sink.write(block.data(), block.size());
    };
    const auto refused = server.client().Post(kPath, endless, kType);
    CHECK((!refused || refused->status == 413));
    CHECK(download(server, "1") == 200);
}

TEST_CASE("an address has one transfer at a time, and all have few", "[gateway]") {
    LinkTransfers transfers({.at_once = 2});
    std::counting_semaphore begun(0);
    const PlayedServer server(routes_of(transfers, [&] { begun.release(); }));
    // No other transfer starts before the upload is about to be read, so the upload gets its slot.
    LongUpload first(server, "192.0.2.1");
    begun.acquire();
    CHECK(download(server, "1", "192.0.2.1") == 503);
    CHECK(download(server, "1", "192.0.2.2") == 503);  // its network leaves a place to others
    CHECK(download(server, "1", "198.51.100.2") == 200);
    const auto refused = server.client().Post(kPath, from("192.0.2.1"), "x", kType);
    begun.acquire();
    REQUIRE(status_of(refused) == 503);
    CHECK(formats::parse_enrolment_error(refused->body) ==
          "other links are measured now: try again in a minute");
    LongUpload second(server, "198.51.100.2");
    begun.acquire();
    CHECK(download(server, "1", "198.51.100.2") == 503);
    CHECK(download(server, "1", "203.0.113.3") == 503);

    const auto [arrived, sent] = first.end();
    CHECK(arrived == sent);
    CHECK(arrived > 0);
    CHECK(download(server, "1", "203.0.113.3") == 200);
    CHECK(download(server, "1", "192.0.2.1") == 200);
    CHECK(second.end().first > 0);
}

TEST_CASE("a transfer that takes too long is cut off", "[gateway]") {
    LinkTransfers transfers({.longest = 0ms});
    const PlayedServer server(routes_of(transfers));
    CHECK_FALSE(server.client().Get(kPath + std::string("?bytes=8388608")));
    CHECK(status_of(server.client().Post(kPath, "x", kType)) == 413);
    CHECK_THROWS_WITH(tool::measure_gateway_link({.url = server.url()}),
                      Catch::StartsWith("a transfer with the gateway failed: "));
}

TEST_CASE("a link is measured in both directions by the bytes that arrive", "[gateway][tool]") {
    LinkTransfers transfers;
    const PlayedServer server(routes_of(transfers));
    const tool::GatewayLink link = tool::measure_gateway_link({.url = server.url()});
    CHECK(link.upload > Bandwidth{1'000'000});
    CHECK(link.download > Bandwidth{1'000'000});
}

TEST_CASE("a burst is not mistaken for a link's bandwidth", "[gateway][tool]") {
    constexpr std::uint64_t kAtOnce = 128 * 1024;
    constexpr std::uint64_t kBytesPerSecond = 256 * 1024;
    std::mutex mutex;
    std::uint64_t sent = 0;
    std::uint64_t longest = 0;
    // The rate limit: bytes that may have been sent since the first one.
    const auto begin = std::chrono::steady_clock::now();
    const auto pace = [&](std::size_t bytes) {
        const std::lock_guard lock(mutex);
        sent += bytes;
        longest = std::max(longest, std::uint64_t{bytes});
        const double late =
            (static_cast<double>(sent) - static_cast<double>(kAtOnce)) / kBytesPerSecond;
        std::this_thread::sleep_until(begin + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                  std::chrono::duration<double>(late)));
    };
    const PlayedServer server([&](httplib::Server& http) {
        http.Get(kPath, [&](const Request& request, Response& response) {
            const std::size_t bytes = std::stoul(request.get_param_value("bytes"));
            pace(bytes);
            response.set_content(std::string(bytes, 'x'), kType);
        });
        http.Post(kPath, [&](const Request& request, Response& response) {
            pace(request.body.size());
            response.set_content(formats::write_arrival(request.body.size()), "application/json");
        });
    });
    const tool::GatewayLink link = tool::measure_gateway_link({.url = server.url()});
    CHECK(link.download < Bandwidth{2 * kBytesPerSecond});
    CHECK(link.upload < Bandwidth{2 * kBytesPerSecond});
    CHECK(longest <= 4 * kAtOnce);
}

/// The check-up's report on a gateway with this reply to uploads, and working downloads.
std::string complaint_about(int status, const std::string& body) {
    LinkTransfers transfers;
    const PlayedServer server([&](httplib::Server& http) {
        http.Get(kPath, [&](const Request& request, Response& response) {
            transfers.send(request, response);
        });
        http.Post(kPath, [&](const Request&, Response& response) {
            response.status = status;
            response.set_content(body, "application/json");
        });
    });
    try {
        tool::measure_gateway_link({.url = server.url()});
    } catch (const tool::NotMeasured& error) {
        return error.what();
    }
    return "measured";
}

TEST_CASE("a gateway without measurements gives one sentence", "[gateway][tool]") {
    CHECK(complaint_about(200, R"({"bytes": 65535})") ==
          "of a transfer with the gateway 65535 bytes of 65536 arrived");
    CHECK_THAT(complaint_about(200, "arrived"), Catch::Contains("is not JSON"));
    CHECK(complaint_about(429, "") ==
          "measured too often from this address: try again in a few minutes");
    CHECK(complaint_about(503, R"({"error": "not now"})") ==
          "the project's gateway does not measure it: not now");
    CHECK(complaint_about(502, "<html>") ==
          "the project's gateway does not measure it: HTTP status 502");

    const PlayedServer older([](httplib::Server& http) {
        http.Get("/dedloc/report", [](const Request&, Response& response) {
            formats::GatewayReport report;
            report.project = "Old";
            report.now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
            report.address = "127.0.0.1";
            response.set_content(formats::write_gateway_report(report), "application/json");
        });
    });
    const auto findings = tool::check_up({.url = older.url()});
    CHECK(
        findings.back() ==
        tool::Finding{.what = "bandwidth",
                      .works = false,
                      .is_needed = false,
                      .sentence = "the project's gateway does not measure it: it is an older one"});
}

}  // namespace
}  // namespace dedloc::gateway
