// inet_pton(3) reads the address however it is written, and inet_ntop(3) writes it in the one
// canonical way, so that one network has one text.
#include "peer/platform/networks.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace dedloc::platform {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // 64 bits
constexpr std::size_t kPublicBytes = 6;   // 48 bits
constexpr std::size_t kMappedAt = 12;     // where the IPv4 address is in a mapped one

/// A block of addresses that are not public.
struct Block {
    std::uint32_t network;
    std::uint32_t mask;
};
constexpr std::array<Block, 7> kNotPublic{{
    {0x00000000, 0xFF000000},  // 0.0.0.0/8
    {0x0A000000, 0xFF000000},  // 10.0.0.0/8
    {0x64400000, 0xFFC00000},  // 100.64.0.0/10
    {0x7F000000, 0xFF000000},  // 127.0.0.0/8
    {0xA9FE0000, 0xFFFF0000},  // 169.254.0.0/16
    {0xAC100000, 0xFFF00000},  // 172.16.0.0/12
    {0xC0A80000, 0xFFFF0000},  // 192.168.0.0/16
}};

bool is_public(std::uint32_t address) {
    return std::ranges::none_of(kNotPublic, [address](const Block& block) {
        return (address & block.mask) == block.network;
    });
}

/// Unique local addresses are fc00::/7.
bool is_public(const in6_addr& address) {
    return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_LOOPBACK(&address) &&
           !IN6_IS_ADDR_LINKLOCAL(&address) && !IN6_IS_ADDR_SITELOCAL(&address) &&
           (address.s6_addr[0] & 0xFE) != 0xFC;
}

std::string text_of(int family, const void* bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    return inet_ntop(family, bytes, text.data(), text.size());
}

}  // namespace

bool is_loopback_host(const std::string& host) {
    in_addr v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
    in6_addr v6{};
    return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string client_network(const std::string& address) {
    in6_addr bytes{};
    if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) return text_of(AF_INET, &bytes.s6_addr[kMappedAt]);
    std::fill(std::begin(bytes.s6_addr) + kNetworkBytes, std::end(bytes.s6_addr), std::uint8_t{0});
    return text_of(AF_INET6, &bytes) + "/64";
}

NetworkKeys networks_of(const std::string& address) {
    // The first character keeps IPv4, IPv6 and other texts apart.
    std::array<char, sizeof(in6_addr)> bytes{};
    if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
        return {"4" + std::string(bytes.data(), 2), "4" + std::string(bytes.data(), 3),
                "4" + std::string(bytes.data(), 4)};
    }
    if (inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) {
        const std::string own = "?" + address + '\0';  // the end: no key begins with another
        return {own, own, own};
    }
    in6_addr v6{};
    std::memcpy(&v6, bytes.data(), sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return networks_of(client_network(address));
    return {"6" + std::string(bytes.data(), 4), "6" + std::string(bytes.data(), 6),
            "6" + std::string(bytes.data(), 8)};
}

std::string public_network(const std::string& address) {
    in_addr v4{};
    if (inet_pton(AF_INET, address.c_str(), &v4) == 1) {
        if (!is_public(ntohl(v4.s_addr))) return {};
        v4.s_addr &= htonl(0xFFFFFF00);
        return text_of(AF_INET, &v4) + "/24";
    }
    in6_addr v6{};
    if (inet_pton(AF_INET6, address.c_str(), &v6) != 1) return {};
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return public_network(text_of(AF_INET, &v6.s6_addr[kMappedAt]));
    if (!is_public(v6)) return {};
    std::fill(std::begin(v6.s6_addr) + kPublicBytes, std::end(v6.s6_addr), std::uint8_t{0});
    return text_of(AF_INET6, &v6) + "/48";
}

}  // namespace dedloc::platform
