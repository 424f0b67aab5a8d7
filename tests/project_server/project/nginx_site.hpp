// nginx with the configuration that we write for it, in front of a project's dedloc-server.
#pragma once

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

#include "peer/platform/files.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/project/nginx_conf.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/web/http_server.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::project {

using namespace std::chrono_literals;

/// A TCP connection to a port of this machine, from 127.NETWORK.SUBNET.1.
class Connection {
  public:
    explicit Connection(std::uint16_t port, std::uint8_t subnet = 0, std::uint8_t network = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const sockaddr_in from =
            loopback(0, (std::uint32_t{network} << 16) + (std::uint32_t{subnet} << 8) + 1);
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
    /// The first line of the answer. nginx waits for the rest of a body before it closes.
    std::string receive_line() const {
        std::string text;
        char letter = 0;
        while (!text.ends_with("\r\n") && ::recv(socket_, &letter, 1, 0) == 1) text += letter;
        return text;
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
        platform::replace_file(project_.root() / "nginx/nginx.conf", nginx_configuration(settings));
        nginx_ = platform::spawn(nginx_command(),
                                 {.output = {}, .directory = nginx_folder(project_.root())});
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!Connection{port_}.is_open()) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(10ms);
        }
    }
    ~Site() {
        ::kill(nginx_, SIGTERM);
        platform::wait_for_child(nginx_);
        stop_server();
    }
    /// dedloc-server ends; nginx stays.
    void stop_server() {
        if (!thread_.joinable()) return;
        server_->stop();
        thread_.join();
        server_.reset();
    }

    std::uint16_t port() const { return port_; }
    /// That of dedloc-server, behind nginx.
    std::uint16_t server_port() const { return server_->port(); }
    std::filesystem::path error_log() const { return project_.root() / "log/nginx.log"; }
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

inline constexpr const char* kUploads = "/file_upload_handler";

}  // namespace dedloc::project
