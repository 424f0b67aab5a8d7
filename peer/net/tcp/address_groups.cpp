// Two maps are kept in step: number to group, and group to its numbers in ascending order. Empty
// groups are erased at once. The search for the largest group is linear in the number of groups,
// which the callers' limits bound.
#include "peer/net/tcp/address_groups.hpp"

#include <arpa/inet.h>

#include <array>

#include "peer/base/check.hpp"

namespace dedloc::net {

std::string neighbourhood_of(const std::string& numeric_host) {
    std::array<unsigned char, 16> address{};
    if (inet_pton(AF_INET6, numeric_host.c_str(), address.data()) != 1) return numeric_host;
    return {reinterpret_cast<const char*>(address.data()), 8};
}

void AddressGroups::add(Number number, const std::string& neighbourhood) {
    const bool is_new = members_.emplace(number, neighbourhood).second;
    DEDLOC_CHECK(is_new, "the connection is already in a group", number);
    groups_[neighbourhood].insert(number);
}

void AddressGroups::remove(Number number) {
    const auto member = members_.find(number);
    if (member == members_.end()) return;
    const auto group = groups_.find(member->second);
    group->second.erase(number);
    if (group->second.empty()) groups_.erase(group);
    members_.erase(member);
}

std::size_t AddressGroups::size_of(const std::string& neighbourhood) const {
    const auto group = groups_.find(neighbourhood);
    return group == groups_.end() ? 0 : group->second.size();
}

std::optional<AddressGroups::Number> AddressGroups::oldest_of(
    const std::string& neighbourhood) const {
    const auto group = groups_.find(neighbourhood);
    if (group == groups_.end()) return std::nullopt;
    return *group->second.begin();
}

std::optional<AddressGroups::Number> AddressGroups::oldest_of_largest() const {
    const std::set<Number>* largest = nullptr;
    for (const auto& [neighbourhood, group] : groups_) {
        const bool is_larger = largest == nullptr || group.size() > largest->size();
        const bool is_as_large = !is_larger && group.size() == largest->size();
        if (is_larger || (is_as_large && *group.begin() < *largest->begin())) largest = &group;
    }
    if (largest == nullptr) return std::nullopt;
    return *largest->begin();
}

}  // namespace dedloc::net
