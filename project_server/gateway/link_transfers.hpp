// Transfers that measure the link between the gateway and a client, for `dedloc-peer check`. They
// use the project's bandwidth, so they are short and few, with one at a time for each address.
// Nothing is read from disk, and received bytes are dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace httplib {
struct Request;
struct Response;
class ContentReader;
}  // namespace httplib

namespace dedloc::gateway {

/// Requests that cost more than others: one at a time for each address. Thread: any.
class AddressSlots {
  public:
    /// One address's request; it ends with leave() or the destructor.
    class Slot {
      public:
        Slot(AddressSlots& slots, std::string address);
        ~Slot() { leave(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        /// Frees the slot. Idempotent. Thread: one at a time.
        void leave();

      private:
        AddressSlots* slots_;
        const std::string address_;
    };

    /// At most `most` slots in total.
    explicit AddressSlots(std::size_t most) : max_(most) {}
    /// Null if the address has a slot already, or all slots are taken. The pointer is shared
    /// because a response's callbacks hold it and are copied.
    std::shared_ptr<Slot> take(const std::string& address);

  private:
    const std::size_t max_;
    std::mutex mutex_;
    std::set<std::string> addresses_;
};

/// Limits of the transfers.
struct TransferLimits {
    std::size_t at_once = 4;                    ///< transfers in progress, over all addresses
    std::chrono::milliseconds longest{10'000};  ///< duration of one transfer
};

/// Serves transfers in both directions. Thread: any; a call lasts as long as its transfer.
class LinkTransfers {
  public:
    /// `proxy`: the web server in front, see address_of().
    explicit LinkTransfers(const TransferLimits& limits = {}, std::string proxy = "127.0.0.1");

    /// Sends the number of bytes in the parameter `bytes`, at most kMaxMeasuredBytes. Cuts the
    /// transfer off at its time limit. Status 400: bad number. 503: no free slot.
    void send(const httplib::Request& request, httplib::Response& response);
    /// Counts the received bytes and replies with their number (formats::write_arrival). Status
    /// 413: over kMaxMeasuredBytes or the time limit. 503: no free slot.
    void receive(const httplib::Request& request, httplib::Response& response,
                 const httplib::ContentReader& content);

  private:
    const TransferLimits limits_;
    const std::string proxy_;
    AddressSlots slots_;
    const std::string block_;  ///< random, so incompressible; sent repeatedly
};

}  // namespace dedloc::gateway
