// Addresses are parsed with inet_pton, which never asks a resolver; only resolve_endpoint() does.
// The port follows the last colon, so a host with a colon must be in brackets.
#include "peer/net/endpoint_text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/networks.hpp"

namespace dedloc::net {

namespace {

std::optional<std::uint32_t> ipv4_of(const std::string& host) {
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) != 1) return std::nullopt;
    return ntohl(address.s_addr);
}

std::optional<std::array<std::uint8_t, 16>> ipv6_of(const std::string& host) {
    std::array<std::uint8_t, 16> bytes{};
    if (inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return std::nullopt;
    return bytes;
}

}  // namespace

bool is_numeric_host(const std::string& host) {
    return ipv4_of(host).has_value() || ipv6_of(host).has_value();
}

bool is_dialable_host(const std::string& host) {
    return is_numeric_host(host) && host != "0.0.0.0" && host != "::";
}

bool is_private_host(const std::string& host) {
    if (platform::is_loopback_host(host)) return true;
    if (const auto v4 = ipv4_of(host)) {
        return (*v4 >> 24) == 10 || (*v4 >> 20) == 0xac1 || (*v4 >> 16) == 0xc0a8 ||
               (*v4 >> 16) == 0xa9fe;
    }
    const auto v6 = ipv6_of(host);
    return v6 && (((*v6)[0] & 0xfe) == 0xfc || ((*v6)[0] == 0xfe && ((*v6)[1] & 0xc0) == 0x80));
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
    const auto parts = split_host_and_port(text);
    if (!parts || !is_numeric_host(parts->host)) return std::nullopt;
    return Endpoint{parts->host, parts->port};
}

Endpoint resolve_endpoint(const std::string& text) {
    const auto parts = split_host_and_port(text);
    if (!parts || parts->port == 0) {
        throw InputError(fmt::format("\"{}\" is not an address of the form HOST:PORT", text));
    }
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int status = getaddrinfo(parts->host.c_str(), nullptr, &wanted, &found);
    if (status != 0) {
        throw InputError(
            fmt::format("cannot find the address of {}: {}", parts->host, gai_strerror(status)));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    std::array<char, NI_MAXHOST> host{};
    if (getnameinfo(found->ai_addr, found->ai_addrlen, host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
        throw InputError(fmt::format("cannot find the address of {}", parts->host));
    }
    return {host.data(), parts->port};
}

}  // namespace dedloc::net
