// Uses the kernel's declaration of tcp_info: the one of the C library ends earlier. The two exclude
// each other, so this file includes no header of Asio.
#include "peer/net/tcp/flow_probe.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace dedloc::net {
namespace {

bool is_loopback(int descriptor) {
    sockaddr_storage other{};
    socklen_t size = sizeof other;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &size) != 0) return true;
    constexpr std::uint32_t kNetwork = 127;
    if (other.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(other);
        return ntohl(v4.sin_addr.s_addr) >> 24 == kNetwork;
    }
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(other).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == kNetwork);
}

/// Whether the connection sends less after a loss. BBR does not, in any of its versions.
bool obeys_loss(int descriptor) {
    std::array<char, 16> name{};
    socklen_t size = name.size();
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) != 0) return true;
    return !std::string_view{name.data(), size}.starts_with("bbr");
}

}  // namespace

std::optional<FlowSample> probe_flow(int descriptor) {
    if (is_loopback(descriptor)) return {};
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
    if (size < offsetof(tcp_info, tcpi_sndbuf_limited) + sizeof info.tcpi_sndbuf_limited) return {};
    using Microseconds = std::chrono::microseconds;
    return FlowSample{
        .has_more = info.tcpi_notsent_bytes > 0,
        .obeys_loss = obeys_loss(descriptor),
        .busy = Microseconds{info.tcpi_busy_time},
        .limited_by_ends = Microseconds{info.tcpi_rwnd_limited + info.tcpi_sndbuf_limited},
        .sent_again = info.tcpi_total_retrans,
        .round_trip = Microseconds{info.tcpi_rtt},
        .shortest_round_trip = Microseconds{info.tcpi_min_rtt}};
}

}  // namespace dedloc::net
