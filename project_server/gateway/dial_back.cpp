#include "project_server/gateway/dial_back.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "peer/platform/descriptor.hpp"

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

bool connects(const addrinfo& to, std::chrono::milliseconds timeout) {
    const platform::Descriptor opened{
        socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!opened) return false;
    if (connect(opened.id(), to.ai_addr, to.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    pollfd waiting{.fd = opened.id(), .events = POLLOUT, .revents = 0};
    if (poll(&waiting, 1, static_cast<int>(timeout.count())) != 1) return false;
    int failure = 0;
    socklen_t length = sizeof(failure);
    return getsockopt(opened.id(), SOL_SOCKET, SO_ERROR, &failure, &length) == 0 && failure == 0;
}

}  // namespace

bool answers(const std::string& address, std::uint16_t port, std::chrono::milliseconds timeout) {
    if (port < kLowestPort) return false;
    const Addresses to = numeric(address, port);
    return to && connects(*to, timeout);
}

}  // namespace dedloc::gateway
