// The configuration that we write for nginx, with the real nginx and dedloc-server's routes behind
// it.
#include "peer/platform/descriptors.hpp"
#include "project_server/project/log_rotation.hpp"
#include "project_server/transfer/upload_limits.hpp"
#include "tests/project_server/project/nginx_site.hpp"

namespace dedloc::project {
namespace {

std::uint64_t uploaded_bytes(const Site& site, const std::string& name) {
    const std::string reply =
        site.post(kUploads, "<data_server_request>\n<get_file_size>" + name + "</get_file_size>\n");
    const auto at = reply.find("<file_size>");
    REQUIRE(at != std::string::npos);
    return std::stoull(reply.substr(at + 11));
}

TEST_CASE("an upload that is cut goes on where it stopped", "[server][boinc]") {
    const Site site;
    const std::string name = "demo_1_0_r1_0";
    const std::string data(3'000'000, 'd');
    const server::SigningKey key{site.config().key_directory / "upload_private"};
    const auto request = [&](std::uint64_t offset) {
        return "<data_server_request>\n<file_upload>\n<file_info>\n<name>" + name +
               "</name>\n<xml_signature>\n" +
               key.sign_text("<name>" + name + "</name><max_nbytes>4000000</max_nbytes>") +
               "</xml_signature>\n<max_nbytes>4000000</max_nbytes>\n</file_info>\n<nbytes>" +
               std::to_string(data.size()) + "</nbytes>\n<md5_cksum></md5_cksum>\n<offset>" +
               std::to_string(offset) + "</offset>\n<data>\n" + data.substr(offset);
    };
    const std::string whole = request(0);
    {
        const Connection cut{site.port()};
        cut.send(Site::head(kUploads, whole.size()));
        cut.send(std::string_view{whole}.substr(0, whole.size() / 2));
        // The server writes what arrives while the client still sends.
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (uploaded_bytes(site, name) == 0) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(20ms);
        }
    }
    // The first attempt holds the file until the server has seen its end.
    std::string reply;
    std::uint64_t offset = 0;
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    do {
        offset = uploaded_bytes(site, name);
        reply = site.post(kUploads, request(offset));
        REQUIRE(std::chrono::steady_clock::now() < deadline);
    } while (reply.find("<status>1</status>") != std::string::npos);
    CHECK(offset > 0);
    CHECK_THAT(reply, Catch::Contains("<status>0</status>"));
    CHECK(uploaded_bytes(site, name) == data.size());
}

TEST_CASE("a thousand slow requests leave the page to other clients", "[server][boinc]") {
    constexpr int kSlow = 1'100;
    // From as many addresses, or from one, which is not allowed that many.
    const int addresses = GENERATE(1, 11);
    platform::raise_descriptor_limit();
    const Site site;
    std::vector<Connection> slow;
    for (int i = 0; i < kSlow; ++i) {
        slow.emplace_back(site.port(), static_cast<std::uint8_t>(1 + i % addresses));
        REQUIRE(slow.back().is_open());
        slow.back().send(Site::head("/cgi/scheduler", 10) + "<");
    }
    for (int i = 0; i < 20; ++i) CHECK_THAT(site.get("/"), Catch::StartsWith("HTTP/1.1 200"));
}

TEST_CASE("a client beyond the rate of requests is refused, and others are not",
          "[server][boinc]") {
    constexpr int kConnections = 200;  // fewer than a client may have
    constexpr int kRequests = 8;       // on each
    const Site site;
    const std::string request = "GET /style.css HTTP/1.1\r\nHost: x\r\n";
    std::string all;
    for (int i = 1; i < kRequests; ++i) all += request + "\r\n";
    all += request + "Connection: close\r\n\r\n";
    std::vector<Connection> connections;
    for (int i = 0; i < kConnections; ++i) {
        connections.emplace_back(site.port());
        connections.back().send(all);
    }
    int served = 0;
    int refused = 0;
    for (const Connection& connection : connections) {
        const std::string replies = connection.receive();
        for (auto at = replies.find("HTTP/1.1 "); at != replies.npos;
             at = replies.find("HTTP/1.1 ", at + 1)) {
            const std::string status = replies.substr(at + 9, 3);
            served += status == "200" ? 1 : 0;
            refused += status == "503" ? 1 : 0;
        }
    }
    INFO(served << " requests served, " << refused << " refused");
    CHECK(served + refused == kConnections * kRequests);
    CHECK(served >= 400);  // the burst
    CHECK(refused > 0);
    const Connection other{site.port(), 2};
    other.send(request + "Connection: close\r\n\r\n");
    CHECK_THAT(other.receive(), Catch::StartsWith("HTTP/1.1 200"));
    // The first client is served again as soon as its rate allows it.
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!site.get("/style.css").starts_with("HTTP/1.1 200")) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        std::this_thread::sleep_for(50ms);
    }
}

TEST_CASE("uploads leave the server threads for everything else", "[server][boinc]") {
    // One address, or so many that they would hold every thread of the server.
    const int addresses = GENERATE(1, 36);
    const int of_each = addresses == 1 ? 40 : 8;
    const Site site;
    std::vector<Connection> slow;
    for (int i = 0; i < addresses * of_each; ++i) {
        slow.emplace_back(site.port(), static_cast<std::uint8_t>(1 + i % addresses));
        REQUIRE(slow.back().is_open());
        slow.back().send(Site::head(kUploads, 1'000'000) + "<data_server_request>\n");
    }
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) CHECK_THAT(site.get("/"), Catch::StartsWith("HTTP/1.1 200"));
    CHECK_THAT(site.post("/cgi/scheduler", "<x>"), Catch::StartsWith("HTTP/1.1 200"));
    CHECK(std::chrono::steady_clock::now() - began < server::UploadPace::kWindow / 2);
    // More uploads at a time are told to come again.
    const Connection more{site.port(), 1};
    more.send(Site::head(kUploads, 10));
    CHECK_THAT(more.receive_line(), Catch::StartsWith("HTTP/1.1 503"));
    if (addresses == 1) {
        const Connection other{site.port(), 2};
        other.send(Site::head(kUploads, 22) + "<data_server_request>\n");
        CHECK_THAT(other.receive_line(), Catch::StartsWith("HTTP/1.1 200"));
    }
}

TEST_CASE("slow uploads of a few networks leave uploads to every other network",
          "[server][boinc]") {
    const int networks = GENERATE(1, 3);
    constexpr int kSubnets = 40;
    platform::raise_descriptor_limit();
    const Site site;
    std::vector<Connection> slow;
    for (int i = 0; i < networks * kSubnets * 8; ++i) {
        slow.emplace_back(site.port(), static_cast<std::uint8_t>(1 + i / networks % kSubnets),
                          static_cast<std::uint8_t>(66 + i % networks));
        REQUIRE(slow.back().is_open());
        slow.back().send(Site::head(kUploads, 1'000'000) + "<data_server_request>\n");
    }
    const auto began = std::chrono::steady_clock::now();
    for (std::uint8_t subnet = 1; subnet < 20; ++subnet) {
        const Connection newcomer{site.port(), subnet};
        newcomer.send(Site::head(kUploads, 22) + "<data_server_request>\n");
        CHECK_THAT(newcomer.receive_line(), Catch::StartsWith("HTTP/1.1 200"));
    }
    CHECK(std::chrono::steady_clock::now() - began < 10s);
}

TEST_CASE("requests that hash passwords or send e-mail are limited", "[server][boinc]") {
    const Site site;
    for (const char* const form :
         {"sign_in", "email", "password", "delete", "forgotten", "reset", "send_confirmation"}) {
        bool is_refused = false;
        for (int i = 0; i < 200 && !is_refused; ++i) {
            is_refused =
                site.post(std::string{"/account/"} + form, "").find(" 503 ") != std::string::npos;
        }
        INFO(form);
        CHECK(is_refused);
    }
}

TEST_CASE("two addresses cannot occupy all uploads", "[server][boinc]") {
    const Site site;
    std::vector<Connection> slow;
    for (int i = 0; i < 2 * 100; ++i) {
        slow.emplace_back(site.port(), static_cast<std::uint8_t>(1 + i % 2));
        slow.back().send(Site::head(kUploads, 1'000'000) + "<data_server_request>\n");
    }
    CHECK_THAT(site.post(kUploads, "<data_server_request>\n"), Catch::StartsWith("HTTP/1.1 200"));
}

TEST_CASE("an IPv6 network of 64 bits is one client, also behind a proxy", "[server][boinc]") {
    const Site site{{"127.0.0.1"}};
    const std::string path = GENERATE("/lookup_account.php", "/account/create");
    // More than the burst of account requests that a client has.
    const auto refusals = [&](const auto& address_of) {
        int count = 0;
        for (int i = 0; i < 100; ++i) {
            const auto reply = site.get(path, "X-Forwarded-For: " + address_of(std::to_string(i)));
            count += reply.starts_with("HTTP/1.1 503") ? 1 : 0;
        }
        return count;
    };
    CHECK(refusals([](const std::string& i) { return "2001:db8:0:" + i + "::1"; }) == 0);
    CHECK(refusals([](const std::string& i) { return "192.0.2." + i; }) == 0);
    CHECK(refusals([](const std::string& i) { return "2001:db8:1:2:" + i + "::1"; }) > 0);
    // What the client says of itself is not believed: the last address is the proxy's word.
    CHECK(refusals([](const std::string& i) { return "192.0.2." + i + ", 198.51.100.7"; }) > 0);
}

TEST_CASE("no log has what stands behind a question mark, also if the server is away",
          "[server][boinc]") {
    Site site;
    const auto ask = [&] {
        for (const char* path : {"/account/reset", "/account/confirm", "/show_user.php",
                                 "/lookup_account.php", "/dedloc/enrol", "/", "/cgi/scheduler"}) {
            (void)site.get(std::string{path} + "?secret=0123456789abcdef");
        }
    };
    ask();
    site.stop_server();
    for (int i = 0; i < 20; ++i) ask();  // beyond some rate limits, too
    CHECK_THAT(site.get("/show_user.php?secret=0123456789abcdef"), Catch::Contains("502"));
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (platform::read_text(site.access_log()).find("/show_user.php") == std::string::npos) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        std::this_thread::sleep_for(10ms);
    }
    for (const auto& log : {site.access_log(), site.error_log()}) {
        CHECK_THAT(platform::read_text(log), !Catch::Contains("0123456789abcdef"));
    }
}

TEST_CASE("every request is in the access log or in its old part after a rotation",
          "[server][boinc]") {
    const Site site;
    const auto lines = [](const std::filesystem::path& log) {
        if (!std::filesystem::exists(log)) return 0L;
        const std::string text = platform::read_text(log);
        return static_cast<long>(std::ranges::count(text, '\n'));
    };
    const auto wait_until = [](const auto& holds) {
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!holds()) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(10ms);
        }
    };
    const std::filesystem::path old = site.access_log().string() + ".1";
    for (int i = 0; i < 5; ++i) site.get("/");
    wait_until([&] { return lines(site.access_log()) == 5; });
    CHECK(rotate_by_renaming(site.access_log(), {.bytes = 1}, [&] { site.reopen_logs(); }));
    wait_until([&] { return std::filesystem::exists(site.access_log()); });
    for (int i = 0; i < 5; ++i) site.get("/");
    wait_until([&] { return lines(site.access_log()) + lines(old) == 10; });
    CHECK(lines(site.access_log()) > 0);
}

}  // namespace
}  // namespace dedloc::project
