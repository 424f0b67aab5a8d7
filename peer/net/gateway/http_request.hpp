// HTTP and HTTPS requests with libcurl. Proxy and certificates are the system's unless the request
// names others. The size of the answer is limited. A host that has an IPv4 address is asked there
// first: a gateway dials back the address that a request comes from, and more members can dial an
// IPv4 one.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace dedloc::net {

/// One request.
struct HttpRequest {
    std::string url;                                ///< http or https
    std::string body{};                             ///< not empty: POST; empty: GET
    std::string content_type = "application/json";  ///< the type of `body`
    std::string proxy{};         ///< URL; empty: as http_proxy, https_proxy and no_proxy say
    std::string certificates{};  ///< file with CA certificates; empty: the system's
    std::size_t max_bytes = 0;   ///< limit of the answer's body; a longer one is a failure
};

/// The answer, or the reason why there is none.
struct HttpAnswer {
    long status = 0;        ///< HTTP status; 0: there was no answer
    std::string body{};     ///< the whole body
    std::string failure{};  ///< libcurl's reason if there was no answer
    /// Time from sending the request to the end of the answer, without connecting.
    std::chrono::duration<double> took{};
};

/// Sends requests over one connection as long as the server keeps it open.
/// Thread: one at a time.
class HttpClient {
  public:
    /// Starts libcurl. Errors: IoError (libcurl cannot be used).
    HttpClient();
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// Sends the request once; the timeout is half a minute. Redirections are not followed. Ends
    /// with a failure when `is_unwanted`, polled about once a second, returns true.
    ///
    /// Errors   InputError: not an http or https URL; IoError: libcurl cannot be used
    /// Thread   blocks
    HttpAnswer ask(const HttpRequest& request, const std::function<bool()>& is_unwanted);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
};

/// Sends one request over a connection of its own. Thread: any; blocks.
HttpAnswer ask(const HttpRequest& request, const std::function<bool()>& is_unwanted);

}  // namespace dedloc::net
