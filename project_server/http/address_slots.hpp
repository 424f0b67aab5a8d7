// Limits what one client holds of something scarce: threads, dials, bandwidth.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "peer/platform/networks.hpp"

namespace dedloc::server {

/// Slots for requests that cost more than others. An IPv6 network of 64 bits is one client. Thread:
/// any.
///
/// A network gets another slot while it has fewer than are free (Choudhury and Hahne, "Dynamic
/// queue length thresholds in a shared-memory packet switch", 1998). So one network takes at most
/// half of all, n networks take about n/(n+1) of them, and a newcomer from another network always
/// finds one. This holds for wide networks (platform::networks_of), and for the narrower ones
/// inside one with what that one may still take, so that a client has some beside a flood in its
/// own network. No slot is ever taken back.
class AddressSlots {
  public:
    /// One request's slot; it ends with leave() or the destructor.
    class Slot {
      public:
        /// `networks` are counted in `slots` already.
        Slot(AddressSlots& slots, platform::NetworkKeys networks);
        ~Slot() { leave(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        /// Frees the slot. Idempotent. Thread: one at a time.
        void leave();

      private:
        AddressSlots* slots_;
        const platform::NetworkKeys networks_;
    };

    /// Gives at most `max` slots in total and `max_of_client` to each client. Must outlive them.
    explicit AddressSlots(std::size_t max, std::size_t max_of_client = 1)
        : max_(max), max_of_client_(max_of_client) {}
    /// Null if the client or one of its networks has all slots that it may have now. The pointer is
    /// shared because a response's callbacks hold it and are copied.
    std::shared_ptr<Slot> take(const std::string& address);

  private:
    using Counts = std::map<std::string, std::size_t>;

    bool may_take(const platform::NetworkKeys& networks) const;

    const std::size_t max_;
    const std::size_t max_of_client_;
    std::mutex mutex_;
    std::size_t taken_ = 0;  ///< guarded by mutex_
    /// Slots of each network that has any, a map for each width; guarded by mutex_.
    std::array<Counts, 3> counts_;
};

}  // namespace dedloc::server
