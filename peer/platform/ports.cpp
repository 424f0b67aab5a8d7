// Sockets are bound with SO_REUSEADDR, as servers do, so that connections in TIME_WAIT do not make
// a port look used. Free ports are tried with listen() too, because bind() alone can succeed on a
// port that another process uses.
#include "peer/platform/ports.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {
namespace {

constexpr std::uint16_t kFirstFreePort =
    10'000;  ///< lowest that free_port() gives: most services lie below
constexpr std::uint16_t kLastPort = 65'535;
constexpr std::uint16_t kEnough = 10'000;  ///< ports to choose from
constexpr int kTries = 1'000;              ///< ports that free_port() tries before it takes any

/// An address of either family.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    int family() const { return storage.ss_family; }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Descriptor tcp_socket(int family) {
    Descriptor opened{socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!opened) fail("open", "a socket", errno);
    return opened;
}

SocketAddress address_of(const std::string& host, std::uint16_t port) {
    SocketAddress address;
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        address.size = sizeof *v4;
        return address;
    }
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1) {
        throw InputError(fmt::format("{} is not a numeric IPv4 or IPv6 address", host));
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof *v6;
    return address;
}

/// Returns 0, or the errno of the failed bind.
int bind_to(const Descriptor& socket, const SocketAddress& address) {
    const int yes = 1;  // as nginx does
    setsockopt(socket.id(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address.family() == AF_INET6) {
        setsockopt(socket.id(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    }
    return bind(socket.id(), address.get(), address.size) == 0 ? 0 : errno;
}

/// Returns 0, or the errno of the call that failed.
int try_listening(const SocketAddress& address) {
    const Descriptor socket = tcp_socket(address.family());
    if (const int reason = bind_to(socket, address); reason != 0) return reason;
    return listen(socket.id(), 1) == 0 ? 0 : errno;
}

/// A port of the system's choice, from its ephemeral range.
std::uint16_t ephemeral_port(const std::string& host) {
    auto address = address_of(host, 0);
    const Descriptor socket = tcp_socket(address.family());
    if (const int reason = bind_to(socket, address); reason != 0) {
        throw InputError(fmt::format("cannot listen on {}: {}", host, std::strerror(reason)));
    }
    getsockname(socket.id(), reinterpret_cast<sockaddr*>(&address.storage), &address.size);
    // The port is at the same place in addresses of both families.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

}  // namespace

std::string ListenAddress::text() const {
    if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
    return fmt::format("{}:{}", host, port);
}

ListenAddress parse_listen_address(std::string_view text, std::string_view what) {
    const auto parts = split_host_and_port(text);
    if (!parts) throw InputError(fmt::format("{} wants HOST:PORT, not \"{}\"", what, text));
    return {.host = parts->host, .port = parts->port};
}

PortRange ephemeral_ports() {
    PortRange range{.first = 32'768, .last = 60'999};  // Linux's default
    unsigned first = 0;
    unsigned last = 0;
    std::ifstream file{"/proc/sys/net/ipv4/ip_local_port_range"};
    if (file >> first >> last && first <= last && last <= kLastPort) {
        range = {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
    }
    return range;
}

std::uint16_t free_port(const std::string& host) {
    const std::uint16_t otherwise = ephemeral_port(host);
    const PortRange ephemeral = ephemeral_ports();
    PortRange range{.first = kFirstFreePort, .last = kFirstFreePort};
    if (ephemeral.first >= kFirstFreePort + kEnough) {
        range.last = static_cast<std::uint16_t>(ephemeral.first - 1);
    } else if (ephemeral.last <= kLastPort - kEnough) {
        range = {static_cast<std::uint16_t>(ephemeral.last + 1), kLastPort};
    } else {
        return otherwise;
    }
    Random random{unpredictable_seed()};
    const std::uint64_t count = std::uint64_t{range.last} - range.first + 1;
    for (int k = 0; k < kTries; ++k) {
        const auto port = static_cast<std::uint16_t>(range.first + random.below(count));
        if (try_listening(address_of(host, port)) == 0) return port;
    }
    return otherwise;
}

void require_free_port(const std::string& host, std::uint16_t port) {
    const int reason = try_listening(address_of(host, port));
    if (reason == EADDRINUSE) {
        throw InputError(fmt::format("port {} on {} is already in use", port, host));
    }
    if (reason != 0) {
        throw InputError(
            fmt::format("cannot listen on port {} of {}: {}", port, host, std::strerror(reason)));
    }
}

bool is_accepting(const std::string& host, std::uint16_t port) {
    const auto address = address_of(host, port);
    const Descriptor socket = tcp_socket(address.family());
    return connect(socket.id(), address.get(), address.size) == 0;
}

}  // namespace dedloc::platform
