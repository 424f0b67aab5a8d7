// IPv4 only. Sockets are bound with SO_REUSEADDR, as servers do, so that connections in TIME_WAIT
// do not make a port look used. require_free_port() also calls listen(), because bind() alone can
// succeed on a port that another process uses.
#include "peer/platform/ports.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "peer/base/error.hpp"

namespace dedloc::platform {
namespace {

class TcpSocket final {
  public:
    TcpSocket() : id_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (id_ < 0) throw IoError(fmt::format("cannot open a socket: {}", std::strerror(errno)));
    }
    TcpSocket(const TcpSocket&) = delete;
    TcpSocket& operator=(const TcpSocket&) = delete;
    ~TcpSocket() { close(id_); }
    int id() const { return id_; }

  private:
    int id_;
};

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
        throw InputError(fmt::format("{} is no numeric IPv4 address", host));
    }
    return address;
}

/// Returns 0, or the errno of the failed bind.
int bind_to(const TcpSocket& socket, const sockaddr_in& address) {
    const int yes = 1;  // as nginx does, so that connections in TIME_WAIT do not matter
    setsockopt(socket.id(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return bind(socket.id(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
               ? 0
               : errno;
}

}  // namespace

std::uint16_t free_port(const std::string& host) {
    const TcpSocket socket;
    auto address = address_of(host, 0);
    if (const int reason = bind_to(socket, address); reason != 0) {
        throw InputError(fmt::format("cannot listen on {}: {}", host, std::strerror(reason)));
    }
    socklen_t size = sizeof address;
    getsockname(socket.id(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

void require_free_port(const std::string& host, std::uint16_t port) {
    const TcpSocket socket;
    int reason = bind_to(socket, address_of(host, port));
    if (reason == 0 && listen(socket.id(), 1) != 0) reason = errno;
    if (reason == EADDRINUSE) {
        throw InputError(fmt::format("port {} on {} is already in use", port, host));
    }
    if (reason != 0) {
        throw InputError(
            fmt::format("cannot listen on port {} of {}: {}", port, host, std::strerror(reason)));
    }
}

bool is_accepting(const std::string& host, std::uint16_t port) {
    const TcpSocket socket;
    const auto address = address_of(host, port);
    return connect(socket.id(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace dedloc::platform
