// Transfers that do nothing but measure the link between the gateway and whoever asks, for
// `dedloc-peer check`. They cost the project's line, so they are short, few, and one at a time for
// each address. Nothing is read from disk, and nothing that arrives is kept.
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

/// Addresses that have a transfer now. Thread: any.
class TransferSlots {
  public:
    /// One address's transfer, until it is told to leave or is destroyed.
    class Slot {
      public:
        Slot(TransferSlots& slots, std::string address);
        ~Slot() { leave(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        /// Idempotent. Thread: one at a time.
        void leave();

      private:
        TransferSlots* slots_;
        const std::string address_;
    };

    explicit TransferSlots(std::size_t most) : max_(most) {}
    /// Nothing: the address has a slot, or all are taken. Shared because a response's callbacks,
    /// which are copied, keep it.
    std::shared_ptr<Slot> take(const std::string& address);

  private:
    const std::size_t max_;
    std::mutex mutex_;
    std::set<std::string> addresses_;
};

struct TransferLimits {
    std::size_t at_once = 4;  ///< of all addresses together
    std::chrono::milliseconds longest{10'000};
};

/// Both directions. Thread: any; a call lasts as long as its transfer.
class LinkTransfers {
  public:
    explicit LinkTransfers(const TransferLimits& limits = {});

    /// Sends as many bytes as the parameter `bytes` says, at most kMaxMeasuredBytes. Cut off when
    /// it takes too long. 503: not now.
    void send(const httplib::Request& request, httplib::Response& response);
    /// Counts what arrives and says how much it was: formats::write_arrival. More than
    /// formats::kMaxMeasuredBytes, or too long, is 413. 503: not now.
    void receive(const httplib::Request& request, httplib::Response& response,
                 const httplib::ContentReader& content);

  private:
    const TransferLimits limits_;
    TransferSlots slots_;
    const std::string block_;  ///< sent over and over; does not compress
};

}  // namespace dedloc::gateway
