// The web server of an official project: a real Apache that includes the file of dedloc install.
#pragma once

#include <arpa/inet.h>
#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "peer/platform/files.hpp"
#include "peer/platform/privileges.hpp"
#include "peer/platform/process.hpp"
#include "project_server/official/apache.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::tests {

/// The answer to a GET over HTTP 1.0, all of it; empty if the port does not answer. `from`: the
/// address of loopback that the client has.
inline std::string fetch(std::uint16_t port, const std::string& path,
                         const std::string& headers = "", const char* from = "127.0.0.1",
                         const char* host = "127.0.0.1") {
    const auto address = [](const char* text, std::uint16_t its_port) {
        sockaddr_in result{};
        result.sin_family = AF_INET;
        result.sin_port = htons(its_port);
        inet_pton(AF_INET, text, &result.sin_addr);
        return result;
    };
    const sockaddr_in source = address(from, 0);
    const sockaddr_in target = address(host, port);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string answer;
    const std::string request = "GET " + path + " HTTP/1.0\r\nHost: x\r\n" + headers + "\r\n";
    if (bind(client, reinterpret_cast<const sockaddr*>(&source), sizeof source) == 0 &&
        connect(client, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0 &&
        send(client, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size())) {
        std::array<char, 4096> piece{};
        for (ssize_t got = 0; (got = recv(client, piece.data(), piece.size(), 0)) > 0;) {
            answer.append(piece.data(), static_cast<std::size_t>(got));
        }
    }
    close(client);
    return answer;
}

/// A web server that gives every request the same answer, until destruction.
class WebServer {
  public:
    WebServer(std::uint16_t port, int status, const std::string& body) {
        const auto answer = [status, body](const httplib::Request&, httplib::Response& response) {
            response.status = status;
            response.set_content(body, "text/html");
        };
        http_.Get(".*", answer);
        http_.Post(".*", answer);
        REQUIRE(http_.bind_to_port("127.0.0.1", port));
        thread_ = std::thread([this] { http_.listen_after_bind(); });
    }
    ~WebServer() {
        while (!http_.is_running()) std::this_thread::yield();
        http_.stop();
        thread_.join();
    }
    WebServer(const WebServer&) = delete;
    WebServer& operator=(const WebServer&) = delete;

  private:
    httplib::Server http_;
    std::thread thread_;
};

/// Apache on 127.0.0.1 with the file of `dedloc install` in its <VirtualHost>, until destruction.
class Apache {
  public:
    /// `more`: further lines of its configuration. `line`: the one for our file.
    Apache(const std::filesystem::path& project, std::uint16_t port, const std::string& more = "",
           const std::string& line = "") {
        const std::string folder = directory_.path().string();
        std::string text = "ServerRoot \"" + folder + "\"\nDefaultRuntimeDir \"" + folder +
                           "\"\nServerName localhost\nListen 127.0.0.1:" + std::to_string(port) +
                           "\nPidFile \"" + folder + "/apache2.pid\"\nErrorLog \"" + folder +
                           "/error.log\"\n";
        for (const std::string name : {"mpm_event", "authz_core", "proxy", "proxy_http"}) {
            text += "LoadModule " + name + "_module /usr/lib/apache2/modules/mod_" + name + ".so\n";
        }
        if (platform::is_root()) text += "User daemon\nGroup daemon\n";
        text += more + "<VirtualHost *:" + std::to_string(port) + ">\n" +
                (line.empty() ? official::apache_line(project) : line) + "\n</VirtualHost>\n";
        const auto file = directory_.path() / "apache.conf";
        platform::replace_file(file, text);
        process_ = platform::spawn({"/usr/sbin/apache2", "-D", "FOREGROUND", "-f", file.string()},
                                   {.output = directory_.path() / "output"});
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (fetch(port, "/").empty()) {
            INFO(platform::failure_in(directory_.path() / "output"));
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            REQUIRE_FALSE(platform::poll_child(process_));
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }
    ~Apache() {
        kill(process_, SIGTERM);
        platform::wait_for_child(process_);
    }
    Apache(const Apache&) = delete;
    Apache& operator=(const Apache&) = delete;

  private:
    TemporaryDirectory directory_;
    pid_t process_ = 0;
};

}  // namespace dedloc::tests
