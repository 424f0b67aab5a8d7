// Groups connections without a proven key by their source address, to decide which one to evict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace dedloc::net {

/// The group of an address: an IPv4 address itself, the /64 network of an IPv6 address, since one
/// host may use all addresses of such a network.
std::string neighbourhood_of(const std::string& numeric_host);

/// A set of connection numbers, grouped by neighbourhood_of() their addresses.
class AddressGroups final {
  public:
    /// Identifies a connection; a higher number is newer.
    using Number = std::uint64_t;

    /// Adds a connection. Requires a number that is not in the set (DEDLOC_CHECK).
    void add(Number number, const std::string& neighbourhood);
    /// Removes a connection; does nothing if it is not in the set.
    void remove(Number number);

    /// Connections in all groups.
    std::size_t size() const { return members_.size(); }
    /// Connections in one group; 0 if there is none.
    std::size_t size_of(const std::string& neighbourhood) const;
    /// The oldest connection of one group; nothing if the group is empty.
    std::optional<Number> oldest_of(const std::string& neighbourhood) const;
    /// The oldest connection of the largest group; among equal groups, of the one with the oldest
    /// member. So the only connection of an address stays while another address has two.
    std::optional<Number> oldest_of_largest() const;

  private:
    std::map<Number, std::string> members_;
    std::map<std::string, std::set<Number>> groups_;  ///< none is empty
};

}  // namespace dedloc::net
