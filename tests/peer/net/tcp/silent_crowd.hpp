// Connections that send nothing, or only a Hello, and reconnect as soon as they are closed.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::net {

class SilentCrowd {
  public:
    struct Options {
        std::uint16_t port = 0;  ///< port of 127.0.0.1 that is attacked
        std::size_t connections = 0;
        std::vector<std::string> from;  ///< loopback addresses, used in turn
        Buffer hello{};                 ///< all that each connection sends
    };

    explicit SilentCrowd(Options options)
        : options_(std::move(options)), thread_([this] { run(); }) {}
    ~SilentCrowd() {
        is_stopping_ = true;
        thread_.join();
    }
    SilentCrowd(const SilentCrowd&) = delete;
    SilentCrowd& operator=(const SilentCrowd&) = delete;

    /// Connections so far, including replacements of closed ones.
    std::size_t connected() const { return connected_; }
    /// Waits until there are so many; false after a timeout.
    bool reaches(std::size_t connections) const {
        for (int i = 0; i < 2'000 && connected_ < connections; ++i) ::poll(nullptr, 0, 10);
        return connected_ >= connections;
    }

  private:
    void run() {
        std::vector<pollfd> sockets(options_.connections, pollfd{-1, POLLIN, 0});
        while (!is_stopping_) {
            for (std::size_t i = 0; i < sockets.size(); ++i) {
                pollfd& socket = sockets[i];
                if (socket.fd < 0) socket.fd = open(options_.from[i % options_.from.size()]);
                std::byte byte{};
                if (socket.revents == 0) continue;
                if (::recv(socket.fd, &byte, 1, 0) > 0) continue;
                ::close(std::exchange(socket.fd, -1));
                socket.revents = 0;
            }
            ::poll(sockets.data(), sockets.size(), 10);
        }
        for (const pollfd& socket : sockets) ::close(socket.fd);
    }

    /// Opens a connection; negative if that fails.
    int open(const std::string& from) {
        const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (descriptor < 0) return descriptor;
        const sockaddr_in here = address_of(from, 0);
        const sockaddr_in there = address_of("127.0.0.1", options_.port);
        const bool is_connected = ::bind(descriptor, as_address(here), sizeof here) == 0 &&
                                  ::connect(descriptor, as_address(there), sizeof there) == 0;
        if (!is_connected) {
            ::close(descriptor);
            return -1;
        }
        ::send(descriptor, options_.hello.data(), options_.hello.size(), MSG_NOSIGNAL);
        ++connected_;
        return descriptor;
    }
    static const sockaddr* as_address(const sockaddr_in& address) {
        return reinterpret_cast<const sockaddr*>(&address);
    }
    static sockaddr_in address_of(const std::string& host, std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        inet_pton(AF_INET, host.c_str(), &address.sin_addr);
        return address;
    }

    const Options options_;
    std::atomic<std::size_t> connected_ = 0;
    std::atomic<bool> is_stopping_ = false;
    std::thread thread_;
};

}  // namespace dedloc::net
