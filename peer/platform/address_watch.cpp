// getifaddrs(3) costs some ten microseconds, so that polling is simpler than listening to netlink
// and as good.
#include "peer/platform/address_watch.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <memory>
#include <utility>

#include "peer/platform/networks.hpp"

namespace dedloc::platform {
namespace {

constexpr std::chrono::seconds kInterval{1};
constexpr std::chrono::seconds kSettled{4};
constexpr std::uint32_t kLinkLocal4 = 0xa9fe;  // 169.254.0.0/16

/// The address as text; empty if other machines cannot use it or it is of another family.
std::string text_of(const sockaddr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.sa_family == AF_INET) {
        const in_addr& v4 = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
        if (ntohl(v4.s_addr) >> 16 == kLinkLocal4) return "";
        return inet_ntop(AF_INET, &v4, text.data(), text.size());
    }
    if (address.sa_family != AF_INET6) return "";
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&v6)) return "";
    return inet_ntop(AF_INET6, &v6, text.data(), text.size());
}

}  // namespace

std::set<std::string> machine_networks() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
    std::set<std::string> networks;
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
        const bool is_up = (each->ifa_flags & IFF_RUNNING) != 0;
        const bool is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
        if (each->ifa_addr == nullptr || !is_up || is_loopback) continue;
        const std::string address = text_of(*each->ifa_addr);
        if (!address.empty()) networks.insert(client_network(address));
    }
    return networks;
}

AddressWatch::AddressWatch(Read read) : read_(std::move(read)), networks_(read_()) {}

bool AddressWatch::has_changed(TimePoint now) {
    if (last_read_ && now < *last_read_ + kInterval) return false;
    last_read_ = now;
    if (auto networks = read_(); networks != networks_) {
        networks_ = std::move(networks);
        changed_ = now;
    }
    if (!changed_ || networks_.empty() || now < *changed_ + kSettled) return false;
    changed_.reset();
    return true;
}

}  // namespace dedloc::platform
