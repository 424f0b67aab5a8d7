// How fast bytes go between here and a project's gateway: measured by transfers that grow until
// they take long enough to say so, over one connection, so that TCP has found its pace by then.
#pragma once

#include <string>

#include "peer/base/error.hpp"
#include "peer/net/gateway/http_request.hpp"

namespace dedloc::tool {

struct GatewayLink {
    // Of the bodies of HTTP; what TCP and IP add is not in them.
    double upload_bytes_per_second = 0;
    double download_bytes_per_second = 0;
};

/// There is no measurement; why, as one sentence.
class NotMeasured : public Error {
  public:
    using Error::Error;
};

/// First down, then up: at most five transfers each way, of at most formats::kMaxMeasuredBytes, and
/// none begins after one that took 0.6 s or more. `proxied` names proxy and certificates; its URL
/// is the project's, with a slash at its end.
///
/// Errors    NotMeasured
/// Deadline  usually two seconds each way; ten for a transfer, which the gateway ends then
GatewayLink measure_gateway_link(const net::HttpRequest& proxied);

}  // namespace dedloc::tool
