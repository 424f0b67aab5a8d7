// The sockets of this process, for tests that look at the connections of a transport.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace dedloc::net {

/// This process's descriptors of the listener on this port or, if `connected`, of both ends of its
/// connections.
inline std::vector<int> descriptors_of(std::uint16_t port, bool connected) {
    std::vector<int> result;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        const int descriptor = std::stoi(entry.path().filename());
        sockaddr_in own{}, other{};
        socklen_t own_size = sizeof own, other_size = sizeof other;
        if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) continue;
        const bool is_connected =
            getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &other_size) == 0;
        if (is_connected != connected || own.sin_family != AF_INET) continue;
        if (ntohs(own.sin_port) != port && ntohs(other.sin_port) != port) continue;
        result.push_back(descriptor);
    }
    return result;
}

}  // namespace dedloc::net
