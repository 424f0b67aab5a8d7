// Notices that this machine is on another network, as a laptop is that was carried elsewhere.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace dedloc::platform {

/// The networks that this machine is on: its addresses on interfaces that are up, as
/// client_network() groups them, so that a new temporary IPv6 address is no change. Without
/// loopback and link-local addresses. Empty if the system does not tell.
std::set<std::string> machine_networks();

/// Compares the machine's networks from time to time. Not copyable. Thread: one.
class AddressWatch {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;
    using Read = std::function<std::set<std::string>()>;

    /// `read` is asked once here.
    explicit AddressWatch(Read read = machine_networks);
    AddressWatch(const AddressWatch&) = delete;
    AddressWatch& operator=(const AddressWatch&) = delete;

    /// True once after the networks have changed, and then have been the same for four seconds and
    /// not empty; also if they are the former ones again, since the network may be another one with
    /// the same addresses. Reads at most once in a second: call it often.
    bool has_changed(TimePoint now);

  private:
    const Read read_;
    std::set<std::string> networks_;    ///< as last read
    std::optional<TimePoint> changed_;  ///< the last change that was not reported
    std::optional<TimePoint> last_read_;
};

}  // namespace dedloc::platform
