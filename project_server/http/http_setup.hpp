// Shared by the project's HTTP servers, which listen on loopback behind nginx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <string>

namespace httplib {
class Server;
struct Request;
}  // namespace httplib

namespace dedloc::server {

/// Sets threads, timeouts and socket options; an exception of a handler becomes status 503 and a
/// log line. A connection serves one request. `largest` is the limit on a request's body, in bytes;
/// httplib observes it only for bodies that say how long they are (request_head.hpp).
void set_up(httplib::Server& server, std::size_t threads, std::size_t largest);

/// Binds a server that is set up, and runs it until stop().
class HttpRun {
  public:
    /// `server` must outlive this object.
    explicit HttpRun(httplib::Server& server) : server_(server) {}
    /// Binds to a port; 0: any. Errors: IoError if it is taken.
    void bind(const std::string& host, std::uint16_t port);
    /// The port that it is bound to.
    std::uint16_t port() const { return port_; }
    /// Serves until stop(). Thread: one, not the one that calls stop().
    void run();
    /// Ends run(), also one that is about to begin; requests in progress are finished. Call it
    /// once. Thread: any.
    void stop();

  private:
    httplib::Server& server_;
    std::uint16_t port_ = 0;
    std::promise<void> has_ended_;
};

/// A regular expression that matches exactly `path`.
std::string literal(const std::string& path);

/// The address that nginx or Apache forwards requests from, unless it is on another machine.
inline constexpr const char* kLoopback = "127.0.0.1";

/// The client's address. Of a request from `proxy` it is the last address in X-Forwarded-For: the
/// proxy appends it, whatever the client has sent.
std::string address_of(const httplib::Request& request, const std::string& proxy = kLoopback);

}  // namespace dedloc::server
