// Connections that have proven nothing, grouped by the address that they come from: decides which
// of them is closed to make room for a new one.
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

class AddressGroups final {
  public:
    /// Of a connection; a higher one is newer.
    using Number = std::uint64_t;

    /// Requires a number that is not in here.
    void add(Number number, const std::string& neighbourhood);
    /// Does nothing if it is not in here.
    void remove(Number number);

    std::size_t size() const { return members_.size(); }
    std::size_t size_of(const std::string& neighbourhood) const;
    std::optional<Number> oldest_of(const std::string& neighbourhood) const;
    /// The oldest of the largest group; of equal ones, of that with the oldest member. So a client
    /// alone on its address stays as long as another address holds two places.
    std::optional<Number> oldest_of_largest() const;

  private:
    std::map<Number, std::string> members_;
    std::map<std::string, std::set<Number>> groups_;  ///< none is empty
};

}  // namespace dedloc::net
