#include "project_server/gateway/dial_back.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace dedloc::gateway {
namespace {

constexpr std::uint16_t kLowestPort = 1024;

struct Free {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, Free>;

Addresses numeric(const std::string& address, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
        return nullptr;
    }
    return Addresses{found};
}

class Socket {
  public:
    explicit Socket(int family)
        : descriptor_(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
    ~Socket() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    bool connects(const addrinfo& to, std::chrono::milliseconds timeout) const {
        if (descriptor_ < 0) return false;
        if (connect(descriptor_, to.ai_addr, to.ai_addrlen) == 0) return true;
        if (errno != EINPROGRESS) return false;
        pollfd waiting{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        if (poll(&waiting, 1, static_cast<int>(timeout.count())) != 1) return false;
        int failure = 0;
        socklen_t length = sizeof(failure);
        return getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 &&
               failure == 0;
    }

  private:
    const int descriptor_;
};

}  // namespace

bool answers(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout) {
    if (port < kLowestPort) return false;
    const Addresses to = numeric(address, port);
    return to && Socket(to->ai_family).connects(*to, timeout);
}

}  // namespace dedloc::gateway
