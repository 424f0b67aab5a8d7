// Measures the bandwidth between this machine and a project's gateway, with transfers that grow
// until they take long enough. All use one connection, so that TCP's window has grown by then.
#pragma once

#include <string>

#include "peer/base/error.hpp"
#include "peer/base/units.hpp"
#include "peer/net/gateway/http_request.hpp"

namespace dedloc::tool {

/// The measured bandwidths, by the bytes of HTTP bodies without the headers of HTTP, TCP and IP.
struct GatewayLink {
    Bandwidth upload;    ///< speed of a transfer to the gateway
    Bandwidth download;  ///< speed of a transfer from the gateway
};

/// The measurement has failed; what() is the reason.
class NotMeasured : public Error {
  public:
    using Error::Error;
};

/// Measures the download first, then the upload: at most five transfers in each direction, of at
/// most formats::kMaxMeasuredBytes, and none after one that took 0.6 s or more. `proxied` has proxy
/// and certificates; its URL is the project's, with a slash at its end.
///
/// Errors    NotMeasured
/// Deadline  usually two seconds for each direction; the gateway ends a transfer after ten
GatewayLink measure_gateway_link(const net::HttpRequest& proxied);

}  // namespace dedloc::tool
