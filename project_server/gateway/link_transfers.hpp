// Transfers that measure the link between the gateway and a client, for `dedloc-peer check`. They
// use the project's bandwidth, so they are short and few, with one at a time for each address.
// Nothing is read from disk, and received bytes are dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "project_server/http/address_slots.hpp"

namespace httplib {
struct Request;
struct Response;
class ContentReader;
}  // namespace httplib

namespace dedloc::gateway {

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
    server::AddressSlots slots_;
    const std::string block_;  ///< random, so incompressible; sent repeatedly
};

}  // namespace dedloc::gateway
