// The configuration that we write for nginx, with the real nginx and dedloc-server's routes behind
// it.
#include "project_server/cli/nginx_conf.hpp"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/cli/log_rotation.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/web/http_server.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace std::chrono_literals;

namespace {

/// A TCP connection to a port of this machine, from 127.0.SUBNET.1.
class Connection {
  public:
    explicit Connection(std::uint16_t port, std::uint8_t subnet = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const sockaddr_in from = loopback(0, (std::uint32_t{subnet} << 8) + 1);
        const sockaddr_in to = loopback(port, 1);
        is_open_ = socket_ >= 0 && ::bind(socket_, as_address(from), sizeof(from)) == 0 &&
                   ::connect(socket_, as_address(to), sizeof(to)) == 0;
    }
    ~Connection() {
        if (socket_ >= 0) ::close(socket_);
    }
    Connection(Connection&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), is_open_(other.is_open_) {}
    Connection& operator=(Connection&&) = delete;

    bool is_open() const { return is_open_; }
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            REQUIRE(sent > 0);
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    /// Everything until the other side closes.
    std::string receive() const {
        std::string text;
        std::array<char, 4096> piece{};
        for (ssize_t got = 0; (got = ::recv(socket_, piece.data(), piece.size(), 0)) > 0;) {
            text.append(piece.data(), static_cast<std::size_t>(got));
        }
        return text;
    }

  private:
    static sockaddr_in loopback(std::uint16_t port, std::uint32_t host) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl((127U << 24) + host);
        return address;
    }
    static const sockaddr* as_address(const sockaddr_in& address) {
        return reinterpret_cast<const sockaddr*>(&address);
    }

    int socket_;
    bool is_open_ = false;
};

/// nginx in front of a project's server, both on free ports.
class Site {
  public:
    explicit Site(std::vector<std::string> proxies = {}) {
        for (const char* folder : {"nginx", "log", "html"}) {
            std::filesystem::create_directory(project_.root() / folder);
        }
        for (const char* key : {"code_sign", "upload"}) {
            server::make_key_pair(project_.config().key_directory, key);
        }
        config_ = project_.config();
        config_.upload_url = config_.master_url + "file_upload_handler";
        server_.emplace(config_, "127.0.0.1", 0);
        thread_ = std::thread{[this] { server_->run(); }};
        port_ = platform::free_port("127.0.0.1");
        const server::Settings settings{.name = "x",
                                        .url = "http://127.0.0.1/",
                                        .listen = {{"127.0.0.1", port_}},
                                        .proxies = std::move(proxies),
                                        .server_port = server_->port(),
                                        .gateway_port = 1,
                                        .database_port = 1};
        platform::replace_file(project_.root() / "nginx/nginx.conf",
                               cli::nginx_configuration(project_.root(), settings));
        nginx_ = platform::spawn(cli::nginx_command(project_.root()), {});
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!Connection{port_}.is_open()) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(10ms);
        }
    }
    ~Site() {
        ::kill(nginx_, SIGTERM);
        platform::wait_for_child(nginx_);
        server_->stop();
        thread_.join();
    }

    std::uint16_t port() const { return port_; }
    std::filesystem::path access_log() const { return project_.root() / "log/access.log"; }
    /// Asks nginx to open its logs again.
    void reopen_logs() const { ::kill(nginx_, SIGUSR1); }
    const server::ProjectConfig& config() const { return config_; }

    static std::string head(std::string_view path, std::size_t length) {
        return "POST " + std::string{path} + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
               "Content-Length: " + std::to_string(length) + "\r\n\r\n";
    }
    std::string post(std::string_view path, std::string_view body) const {
        const Connection connection{port_};
        connection.send(head(path, body.size()));
        connection.send(body);
        return connection.receive();
    }
    std::string get(std::string_view path, const std::string& header = "Accept: */*") const {
        const Connection connection{port_};
        connection.send("GET " + std::string{path} + " HTTP/1.1\r\nHost: x\r\n" + header +
                        "\r\nConnection: close\r\n\r\n");
        return connection.receive();
    }

  private:
    server::TestProject project_;
    server::ProjectConfig config_;
    std::optional<server::HttpServer> server_;
    std::thread thread_;
    std::uint16_t port_ = 0;
    pid_t nginx_ = 0;
};

constexpr const char* kUploads = "/file_upload_handler";

std::uint64_t uploaded_bytes(const Site& site, const std::string& name) {
    const std::string reply =
        site.post(kUploads, "<data_server_request>\n<get_file_size>" + name + "</get_file_size>\n");
    const auto at = reply.find("<file_size>");
    REQUIRE(at != std::string::npos);
    return std::stoull(reply.substr(at + 11));
}

}  // namespace

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
    const Site site;
    std::vector<Connection> slow;
    for (int i = 0; i < 40; ++i) {
        slow.emplace_back(site.port());
        slow.back().send(Site::head(kUploads, 1'000'000) + "<data_server_request>\n");
    }
    for (int i = 0; i < 20; ++i) CHECK_THAT(site.get("/"), Catch::StartsWith("HTTP/1.1 200"));
    // More uploads of this address at a time are told to come again.
    CHECK_THAT(site.post(kUploads, "<data_server_request>\n"), Catch::StartsWith("HTTP/1.1 503"));
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
    CHECK(cli::rotate_by_renaming(site.access_log(), {.bytes = 1}, [&] { site.reopen_logs(); }));
    wait_until([&] { return std::filesystem::exists(site.access_log()); });
    for (int i = 0; i < 5; ++i) site.get("/");
    wait_until([&] { return lines(site.access_log()) + lines(old) == 10; });
    CHECK(lines(site.access_log()) > 0);
}
