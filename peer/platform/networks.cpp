// inet_pton(3) reads the address however it is written, and inet_ntop(3) writes it in the one
// canonical way, so that one network has one text.
#include "peer/platform/networks.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace dedloc::platform {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // 64 bits
constexpr std::size_t kMappedAt = 12;     // where the IPv4 address is in a mapped one

}  // namespace

std::string client_network(const std::string& address) {
    in6_addr bytes{};
    if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
        return inet_ntop(AF_INET, &bytes.s6_addr[kMappedAt], text.data(), text.size());
    }
    std::fill(std::begin(bytes.s6_addr) + kNetworkBytes, std::end(bytes.s6_addr), std::uint8_t{0});
    return std::string{inet_ntop(AF_INET6, &bytes, text.data(), text.size())} + "/64";
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

}  // namespace dedloc::platform
