// Questions over HTTP or HTTPS, by libcurl: what the system's proxies and certificates are, the
// user's own if they are named, and no more of the answer than was bargained for.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace dedloc::net {

struct HttpRequest {
    std::string url;
    std::string body{};  ///< posted; empty: nothing is posted, the URL is read
    std::string content_type = "application/json";  ///< of the body
    std::string proxy{};         ///< URL; empty: what http_proxy, https_proxy and no_proxy say
    std::string certificates{};  ///< file with those trusted to sign; empty: the system's
    std::size_t max_bytes = 0;   ///< of the answer's body
};

struct HttpAnswer {
    long status = 0;        ///< 0: there was no answer
    std::string body{};     ///< whole
    std::string failure{};  ///< why there was no answer
    /// From the first byte of the request to the last of the answer, once connected.
    std::chrono::duration<double> took{};
};

/// Asks one question after the other, over the same connection where the server keeps it.
/// Thread: one at a time.
class HttpClient {
  public:
    /// Errors   IoError: libcurl cannot be used
    HttpClient();
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// Asks once, for at most half a minute. Redirections are answers. Given up, with a failure,
    /// when `is_unwanted`, which is asked about once a second, says so.
    ///
    /// Errors   InputError: no http or https URL; IoError: libcurl cannot be used
    /// Thread   blocks
    HttpAnswer ask(const HttpRequest& request, const std::function<bool()>& is_unwanted);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
};

/// The same, for one question alone. Thread: any; blocks.
HttpAnswer ask(const HttpRequest& request, const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
