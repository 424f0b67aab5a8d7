// What the project's HTTP servers have in common: they listen on loopback behind nginx.
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

/// Threads, time-outs, and 503 with a log line for whatever a handler throws. `largest` is in bytes
/// of a request's body.
void set_up(httplib::Server& server, std::size_t threads, std::size_t largest);

/// Binds to a port, 0 for any. Returns the port. Errors: IoError when it is taken.
std::uint16_t bind(httplib::Server& server, const std::string& host, std::uint16_t port);

/// Serves what is bound until it is told to stop.
class HttpRun {
  public:
    /// `server` must outlive it.
    explicit HttpRun(httplib::Server& server) : server_(server) {}
    /// Until stop(). Thread: one, not the one that calls stop().
    void run();
    /// Once, whether run() has begun or is about to. Requests under way are finished. Thread: any.
    void stop();

  private:
    httplib::Server& server_;
    std::promise<void> has_ended_;
};

/// The path of a URL, without a slash at the end.
std::string path_of(const std::string& url);

/// `path` as a pattern that matches only itself.
std::string literal(const std::string& path);

/// The client as nginx saw it, or as we do without nginx.
std::string address_of(const httplib::Request& request);

}  // namespace dedloc::server
