// Four maps are kept in step: number to networks, and for each width of network, network to its
// numbers in ascending order. Empty groups are erased at once. A network's key begins with that of
// the wider one, so the search for the victim walks one range of each map; it is linear in the
// number of groups, which the callers' limits bound.
#include "peer/net/tcp/address_groups.hpp"

#include <iterator>

#include "peer/base/check.hpp"

namespace dedloc::net {

void AddressGroups::add(Number number, const std::string& host) {
    const auto [member, is_new] = members_.emplace(number, platform::networks_of(host));
    DEDLOC_CHECK(is_new, "the connection is already in a group", number);
    for (std::size_t width = 0; width < groups_.size(); ++width) {
        groups_[width][member->second[width]].insert(number);
    }
}

void AddressGroups::remove(Number number) {
    const auto member = members_.find(number);
    if (member == members_.end()) return;
    for (std::size_t width = 0; width < groups_.size(); ++width) {
        const auto group = groups_[width].find(member->second[width]);
        group->second.erase(number);
        if (group->second.empty()) groups_[width].erase(group);
    }
    members_.erase(member);
}

std::size_t AddressGroups::size_of(const std::string& host) const {
    const auto group = groups_.back().find(platform::networks_of(host).back());
    return group == groups_.back().end() ? 0 : group->second.size();
}

std::optional<AddressGroups::Number> AddressGroups::oldest_of(const std::string& host) const {
    const auto group = groups_.back().find(platform::networks_of(host).back());
    if (group == groups_.back().end()) return std::nullopt;
    return *group->second.begin();
}

/// The largest group whose key begins with `network`; the end if there is none.
AddressGroups::Groups::const_iterator AddressGroups::largest_in(const Groups& groups,
                                                                const std::string& network,
                                                                Random& random) {
    auto largest = groups.end();
    std::uint64_t equals = 0;
    for (auto at = groups.lower_bound(network);
         at != groups.end() && at->first.starts_with(network); ++at) {
        const bool is_first = largest == groups.end();
        if (is_first || at->second.size() > largest->second.size()) {
            largest = at;
            equals = 1;
        } else if (at->second.size() == largest->second.size() && random.below(++equals) == 0) {
            largest = at;
        }
    }
    return largest;
}

std::optional<AddressGroups::Victim> AddressGroups::victim(Random& random) const {
    if (members_.empty()) return std::nullopt;
    const auto wide = largest_in(groups_[0], {}, random);
    const auto near = largest_in(groups_[1], wide->first, random);
    const auto client = largest_in(groups_[2], near->first, random);
    const auto at = static_cast<std::ptrdiff_t>(random.below(client->second.size()));
    return Victim{*std::next(client->second.begin(), at), wide->second.size()};
}

}  // namespace dedloc::net
