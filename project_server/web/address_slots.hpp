// Limits what one client holds of something scarce: threads, dials, bandwidth.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace dedloc::server {

/// Slots for requests that cost more than others. An IPv6 network of 64 bits is one client. Thread:
/// any.
class AddressSlots {
  public:
    /// One request's slot; it ends with leave() or the destructor.
    class Slot {
      public:
        /// `client` is a key of slots.counts_.
        Slot(AddressSlots& slots, std::string client);
        ~Slot() { leave(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        /// Frees the slot. Idempotent. Thread: one at a time.
        void leave();

      private:
        AddressSlots* slots_;
        const std::string client_;
    };

    /// Gives at most `max` slots in total and `max_of_client` to each client. Must outlive them.
    explicit AddressSlots(std::size_t max, std::size_t max_of_client = 1)
        : max_(max), max_of_client_(max_of_client) {}
    /// Null if the client has all of its slots already, or all slots are taken. The pointer is
    /// shared because a response's callbacks hold it and are copied.
    std::shared_ptr<Slot> take(const std::string& address);

  private:
    const std::size_t max_;
    const std::size_t max_of_client_;
    std::mutex mutex_;
    std::size_t taken_ = 0;                      ///< guarded by mutex_
    std::map<std::string, std::size_t> counts_;  ///< slots of each client; guarded by mutex_
};

}  // namespace dedloc::server
