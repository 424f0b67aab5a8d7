// How a peer gets its ticket: it asks the project's gateway over HTTPS, and again until there is an
// answer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"

namespace dedloc::net {

/// The gateway has answered, and the answer is no. Its sentence; asking again is of no use.
class EnrolmentRefused : public Error {
  public:
    using Error::Error;
};

struct EnrolmentOptions {
    std::string gateway;  ///< URL of the gateway, with a slash at its end
    formats::EnrolmentRequest request;
    PeerKey project;  ///< whose ticket is wanted; another's is no answer
    RunId run;
    std::string proxy{};         ///< URL; empty: what http_proxy, https_proxy and no_proxy say
    std::string certificates{};  ///< file with those trusted to sign for gateways; empty: the
                                 ///< system's
    /// Before asking again, or down to half of it by chance; doubles up to a minute.
    std::chrono::milliseconds first_pause{1'000};
    std::chrono::milliseconds timeout{600'000};  ///< from the first question to giving up
};

/// Asks, and asks again after a pause when there was no answer, a server error or a "too many
/// requests". Nothing when `is_unwanted`, which is asked about once a second, says so.
///
/// Errors   EnrolmentRefused; IoError with the last failure when patience is over; InputError: no
///          http or https URL
/// Thread   any; blocks
std::optional<formats::EnrolmentReply> enrol(const EnrolmentOptions& options,
                                             const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
