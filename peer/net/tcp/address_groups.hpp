// Groups connections without a proven key by the networks of their source address, to decide which
// one to evict.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "peer/base/random.hpp"
#include "peer/platform/networks.hpp"

namespace dedloc::net {

/// A set of connection numbers, grouped by the networks of their addresses
/// (platform::networks_of).
class AddressGroups final {
  public:
    /// Identifies a connection; a higher number is newer.
    using Number = std::uint64_t;

    /// A connection to evict.
    struct Victim {
        Number number = 0;           ///< as it was added
        std::size_t neighbours = 0;  ///< connections of its widest network, itself among them
    };

    /// Adds a connection. Requires a number that is not in the set (DEDLOC_CHECK) and a numeric
    /// host.
    void add(Number number, const std::string& host);
    /// Removes a connection; does nothing if it is not in the set.
    void remove(Number number);

    /// Connections in all groups.
    std::size_t size() const { return members_.size(); }
    /// Connections of one client: an IPv4 address, or an IPv6 network of 64 bits.
    std::size_t size_of(const std::string& host) const;
    /// The oldest connection of one client; nothing if it has none.
    std::optional<Number> oldest_of(const std::string& host) const;
    /// A random connection of the client that holds most, in the network that holds most, in the
    /// widest network that holds most; equal ones have equal chances. So a connection stays as long
    /// as another wide network has more than its own, however many addresses that one has. Nothing
    /// if the set is empty.
    std::optional<Victim> victim(Random& random) const;

  private:
    using Groups = std::map<std::string, std::set<Number>>;

    static Groups::const_iterator largest_in(const Groups& groups, const std::string& network,
                                             Random& random);

    std::map<Number, platform::NetworkKeys> members_;
    std::array<Groups, 3> groups_;  ///< one map for each width of networks_of(); no set is empty
};

}  // namespace dedloc::net
