// One question over HTTP or HTTPS, by libcurl: what the system's proxies and certificates are, the
// user's own if they are named, and no more of the answer than was bargained for.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace dedloc::net {

struct HttpRequest {
    std::string url;
    std::string json{};          ///< posted; empty: nothing is posted, the URL is read
    std::string proxy{};         ///< URL; empty: what http_proxy, https_proxy and no_proxy say
    std::string certificates{};  ///< file with those trusted to sign; empty: the system's
    std::size_t most_bytes = 0;  ///< of the answer's body
};

struct HttpAnswer {
    long status = 0;        ///< 0: there was no answer
    std::string body{};     ///< whole
    std::string failure{};  ///< why there was no answer
};

/// Asks once, for at most half a minute. Redirections are answers. Given up, with a failure, when
/// `is_unwanted`, which is asked about once a second, says so.
///
/// Errors   InputError: no http or https URL; IoError: libcurl cannot be used
/// Thread   any; blocks
HttpAnswer ask(const HttpRequest& request, const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
