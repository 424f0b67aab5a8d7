// Requests a peer's ticket from the project's gateway over HTTPS, with retries and backoff.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"

namespace dedloc::net {

/// The project's gateway has refused for good; what() is its reason. Do not retry.
class EnrolmentRefused : public Error {
  public:
    using Error::Error;
};

/// Parameters of enrol().
struct EnrolmentOptions {
    std::string gateway;                ///< URL of the gateway, with a slash at its end
    formats::EnrolmentRequest request;  ///< the key that the ticket is for, and more
    PeerKey project;  ///< must have signed the revocations, and the ticket unless ticket_key has
    std::optional<PeerKey> ticket_key{};  ///< RunFile::ticket_key
    RunId run;                            ///< the ticket must be for this run
    std::string proxy{};         ///< URL; empty: as http_proxy, https_proxy and no_proxy say
    std::string certificates{};  ///< file with CA certificates; empty: the system's
    /// Backoff before the first retry; each pause is a random part of it, at least half. It
    /// doubles with each retry up to a minute.
    std::chrono::milliseconds first_pause{1'000};
    std::chrono::milliseconds timeout{600'000};  ///< for all attempts together
};

/// Asks for a ticket. Retries unless the answer is a ticket, the gateway's own refusal, or its
/// answer that no seat is free: anything else at its URL, whatever its status, comes from a web
/// server or network in front of it. Nothing when `is_unwanted`, polled about once a second or more
/// often, returns true.
///
/// Errors   EnrolmentRefused; IoError with the last failure after the timeout, or at once if this
///          computer's clock is wrong or no seat is free; InputError: not an http or https URL
/// Thread   any; blocks
std::optional<formats::EnrolmentReply> enrol(const EnrolmentOptions& options,
                                             const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
