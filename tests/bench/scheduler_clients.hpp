// The clients of scheduler_load_bench: those that send requests, and those that only occupy
// connections.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace dedloc::server {

/// Addresses of the clients: nginx allows each a number of connections and of requests a second.
inline constexpr int kAddresses = 200;

inline sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl((127U << 24) + host);
    return address;
}

/// A connection that is being made to a port of this machine from 127.x.x.x; −1 if it cannot be.
inline int connect_from(std::uint32_t host, std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const sockaddr_in from = loopback(host, 0);
    const sockaddr_in to = loopback(1, port);
    ::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof(from));
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 &&
        errno != EINPROGRESS) {
        ::close(socket);
        return -1;
    }
    return socket;
}

/// The name of the workunit that a reply sends; empty if it sends none.
inline std::string job_in(const std::string& reply) {
    const auto at = reply.find("<wu_name>");
    if (at == std::string::npos) return {};
    return reply.substr(at + 9, reply.find("</wu_name>", at) - at - 9);
}

/// What clients send.
class Script {
  public:
    Script(std::string before_host, bool takes_jobs, std::string rest)
        : before_host_(std::move(before_host)), rest_(std::move(rest)), takes_jobs_(takes_jobs) {}

    /// `job` is one that the host has done, and empty if it has none.
    std::string request(int host, const std::string& job) const {
        std::string body = before_host_ + std::to_string(host) + rest_;
        if (takes_jobs_) {
            body += "<cpu_req_secs>100</cpu_req_secs><cpu_req_instances>2</cpu_req_instances>";
            if (!job.empty()) {
                body += "<result><name>" + job +
                        "_0</name><state>5</state><exit_status>0</exit_status></result>";
            }
        }
        body += "</scheduler_request>\n";
        return fmt::format(
            "POST /cgi/scheduler HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{}",
            body.size(), body);
    }

    bool takes_jobs() const { return takes_jobs_; }

  private:
    std::string before_host_;
    std::string rest_;
    bool takes_jobs_;
};

/// A host of the project.
struct LoadHost {
    int id = 0;
    std::string job;  ///< that it has; its next request reports it and asks for another one
};
/// The hosts that send nothing now; the first is the next to send.
using IdleHosts = std::deque<LoadHost>;

/// One connection, and the state of its present request.
struct Client {
    LoadHost host;
    int socket = -1;
    std::string out;
    std::size_t sent = 0;
    std::string reply;
    std::chrono::steady_clock::time_point begun;
};

struct Figures {
    double seconds = 0;
    std::map<std::string, std::uint64_t> failures{};  ///< how many, of each kind
    std::vector<double> milliseconds{};
};

/// Why a request has failed, from what was received and the error of the connection; empty if it
/// has not. What nginx refuses by a limit has a status of its own.
inline std::string failure_of(const std::string& reply, int error) {
    if (reply.find("<project_is_down/>") != std::string::npos) return "project is down";
    if (reply.find("</scheduler_reply>") != std::string::npos) return {};
    if (error != 0) return ::strerror(error);
    if (reply.empty()) return "closed without a reply";
    if (!reply.starts_with("HTTP/1.1 ")) return "no HTTP";
    const std::string status = reply.substr(9, 3);
    return status == "200" ? "cut" : "status " + status;
}

/// Many connections on one thread, each with one request at a time, of the hosts in turn. A host
/// whose request is not answered at the end is left out afterwards.
class Load {
  public:
    Load(std::uint16_t port, int clients, const Script& script, IdleHosts& hosts)
        : port_(port),
          script_(script),
          hosts_(hosts),
          epoll_(::epoll_create1(EPOLL_CLOEXEC)),
          clients_(static_cast<std::size_t>(clients)) {}
    ~Load() {
        for (const Client& client : clients_) {
            if (client.socket >= 0) ::close(client.socket);
        }
        ::close(epoll_);
    }
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    /// Sends requests for so long, and until so many are over.
    Figures run(std::chrono::seconds duration, std::size_t min_requests = 0) {
        const auto begin = std::chrono::steady_clock::now();
        for (Client& client : clients_) start(client);
        std::array<epoll_event, 256> events{};
        while (std::chrono::steady_clock::now() - begin < duration ||
               requests_ < min_requests + clients_.size()) {
            const int count =
                ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
            for (int i = 0; i < count; ++i) {
                advance(clients_[events[static_cast<std::size_t>(i)].data.u64]);
            }
        }
        figures_.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return std::move(figures_);
    }

  private:
    void start(Client& client) {
        const auto address = static_cast<std::uint32_t>(1 + ++requests_ % kAddresses);
        client.host = std::move(hosts_.front());
        hosts_.pop_front();
        client.out = script_.request(client.host.id, client.host.job);
        client.reply.clear();
        client.sent = 0;
        client.begun = std::chrono::steady_clock::now();
        client.socket = connect_from((2U << 16) + address, port_);
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        event.data.u64 = static_cast<std::uint64_t>(&client - clients_.data());
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.socket, &event);
    }

    void advance(Client& client) {
        while (client.sent < client.out.size()) {
            const ssize_t sent = ::send(client.socket, client.out.data() + client.sent,
                                        client.out.size() - client.sent, MSG_NOSIGNAL);
            if (sent < 0) {
                if (errno == EAGAIN || errno == ENOTCONN) return;
                return finish(client, errno);
            }
            client.sent += static_cast<std::size_t>(sent);
        }
        std::array<char, 16'384> piece{};
        for (;;) {
            const ssize_t got = ::recv(client.socket, piece.data(), piece.size(), 0);
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) return finish(client, got < 0 ? errno : 0);
            client.reply.append(piece.data(), static_cast<std::size_t>(got));
        }
    }

    void finish(Client& client, int error) {
        ::close(client.socket);
        const std::chrono::duration<double, std::milli> taken =
            std::chrono::steady_clock::now() - client.begun;
        std::string failure = failure_of(client.reply, error);
        if (failure.empty() && script_.takes_jobs()) {
            client.host.job = job_in(client.reply);
            if (client.host.job.empty()) {
                failure = "no job";
            } else if (!jobs_.insert(client.host.job).second) {
                failure = "a job was sent twice";
            }
        }
        if (failure.empty()) {
            figures_.milliseconds.push_back(taken.count());
        } else {
            ++figures_.failures[failure];
        }
        hosts_.push_back(std::move(client.host));
        start(client);
    }

    const std::uint16_t port_;
    const Script& script_;
    IdleHosts& hosts_;
    const int epoll_;
    std::vector<Client> clients_;
    std::uint64_t requests_ = 0;
    std::set<std::string> jobs_;  ///< those that were received
    Figures figures_;
};

/// Connections that send a part of a request or junk, and no more. nginx closes them after a while.
class SlowClients {
  public:
    SlowClients(std::uint16_t port, int count, int addresses) {
        for (int i = 0; i < count; ++i) {
            const int socket =
                connect_from((3U << 16) + static_cast<std::uint32_t>(1 + i % addresses), port);
            if (socket < 0) continue;
            sockets_.push_back(socket);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{200});
        const std::string_view slow = "POST /cgi/scheduler HTTP/1.1\r\nHost: x\r\nContent-Le";
        const std::string_view junk("\x16\x03\x01\x00\xff\x00junk", 10);
        for (std::size_t i = 0; i < sockets_.size(); ++i) {
            const std::string_view text = i % 2 == 0 ? slow : junk;
            if (::send(sockets_[i], text.data(), text.size(), MSG_NOSIGNAL) < 0) continue;
        }
    }
    ~SlowClients() {
        for (const int socket : sockets_) ::close(socket);
    }
    SlowClients(const SlowClients&) = delete;
    SlowClients& operator=(const SlowClients&) = delete;

  private:
    std::vector<int> sockets_;
};

}  // namespace dedloc::server
