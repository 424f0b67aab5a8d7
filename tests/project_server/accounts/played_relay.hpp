// A mail relay on loopback that speaks SMTP and follows a script.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "project_server/accounts/mail.hpp"

namespace dedloc::server {

/// What the relay does with one connection.
enum class Act {
    kTake,
    kGreeting554,    ///< refuses the connection
    kRecipient451,   ///< refuses the recipient for now
    kRecipient550,   ///< refuses the recipient for good
    kText554,        ///< refuses the message for good
    kText452,        ///< refuses the message for now
    kBreakInText,    ///< closes the connection within the message
    kBreakAfterText  ///< takes the message and closes the connection without an answer
};

/// A relay that follows a script, one act for each connection, and then takes everything.
class PlayedRelay {
  public:
    explicit PlayedRelay(std::deque<Act> script = {}) : script_(std::move(script)) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(listen(listener_, 16) == 0);
        socklen_t size = sizeof address;
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread{[this] {
            for (int link = 0; (link = accept(listener_, nullptr, nullptr)) >= 0; close(link)) {
                serve(link);
                ++connections;
            }
        }};
    }
    ~PlayedRelay() {
        end();
        close(listener_);
    }
    MailSettings settings() const {
        return {.from = "project@example.org",
                .relay = "smtp://127.0.0.1:" + std::to_string(port_),
                .first_pause = std::chrono::seconds{0}};
    }
    /// Messages whose text has come to its end, in order.
    std::vector<std::string> texts() {
        const std::lock_guard lock{mutex_};
        return texts_;
    }
    /// The addresses of all RCPT commands, in order, as they were written between < and >.
    std::vector<std::string> recipients() {
        const std::lock_guard lock{mutex_};
        return recipients_;
    }
    /// All lines of all connections. Waits for the one that is open to end, and takes no more.
    std::string heard() {
        end();
        return heard_;
    }
    std::atomic<int> connections{0};  ///< that have ended
    std::atomic<bool> is_in_text{false};

  private:
    void end() {
        if (!thread_.joinable()) return;
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
    }
    void serve(int link) {
        Act act = Act::kTake;
        if (!script_.empty()) {
            act = script_.front();
            script_.pop_front();
        }
        const auto say = [&](const std::string& line) {
            send(link, (line + "\r\n").c_str(), line.size() + 2, MSG_NOSIGNAL);
        };
        say(act == Act::kGreeting554 ? "554 no service" : "220 played");
        std::string line;
        std::string text;
        bool is_text = false;
        char c = 0;
        while (read(link, &c, 1) == 1) {
            line += c;
            if (c != '\n') continue;
            heard_ += line;
            if (!is_text && line.starts_with("RCPT")) remember(line);
            if (is_text && line == ".\r\n") {
                const bool is_refused = act == Act::kText554 || act == Act::kText452;
                if (!is_refused) {
                    const std::lock_guard lock{mutex_};
                    texts_.push_back(text);
                }
                if (act == Act::kBreakAfterText) return;
                say(act == Act::kText554   ? "554 no"
                    : act == Act::kText452 ? "452 later"
                                           : "250 ok");
                is_text = false;
            } else if (is_text) {
                text += line;
                is_in_text = true;
                if (act == Act::kBreakInText) return;
            } else if (line.starts_with("RCPT") && act == Act::kRecipient451) {
                say("451 later <ada@example.org>");
            } else if (line.starts_with("RCPT") && act == Act::kRecipient550) {
                say("550 no such user <ada@example.org>");
            } else if (line.starts_with("DATA")) {
                say("354 go on");
                is_text = true;
            } else if (line.starts_with("QUIT")) {
                return;
            } else {
                say("250 played");
            }
            line.clear();
        }
    }

    void remember(const std::string& line) {
        const auto begin = line.find('<') + 1;
        const std::lock_guard lock{mutex_};
        recipients_.push_back(line.substr(begin, line.rfind('>') - begin));
    }

    std::deque<Act> script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::vector<std::string> texts_;
    std::vector<std::string> recipients_;
    std::string heard_;  ///< the thread's, until it has ended
    std::thread thread_;
};

}  // namespace dedloc::server
