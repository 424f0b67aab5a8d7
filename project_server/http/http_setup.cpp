// bind() replaces httplib's socket options, which would let two servers share a port, and calls
// listen() once more for a longer backlog. stop() waits until the server runs or has ended, because
// httplib ignores a stop that comes before. A connection serves one request, so the unread rest of
// a refused body is never taken for the next one. address_of() believes X-Forwarded-For only from
// the proxy, and takes the last address of the last header.
#include "project_server/http/http_setup.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <chrono>
#include <memory>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr int kIdleSeconds = 2;
constexpr int kBacklog = 1024;  // connections that wait for a thread
constexpr std::size_t kMaxAddressBytes = 64;

}  // namespace

void set_up(httplib::Server& server, std::size_t threads, std::size_t largest) {
    server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
    server.set_tcp_nodelay(true);
    server.set_payload_max_length(largest);
    // stop() waits this long for idle connections.
    server.set_keep_alive_timeout(kIdleSeconds);
    // What is left of a body that was refused is not taken for the next request.
    server.set_keep_alive_max_count(1);
    server.set_exception_handler([](const httplib::Request& request, httplib::Response& response,
                                    std::exception_ptr failure) {
        response.status = 503;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            log_error("{}: {}", request.path, error.what());
        }
    });
}

void HttpRun::bind(const std::string& host, std::uint16_t port) {
    // httplib's default, SO_REUSEPORT, would let two servers share a port.
    const auto listening = std::make_shared<socket_t>(-1);
    server_.set_socket_options([listening](socket_t socket) {
        const int yes = 1;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        *listening = socket;
    });
    const int bound =
        port == 0 ? server_.bind_to_any_port(host) : (server_.bind_to_port(host, port) ? port : -1);
    if (bound < 0) {
        throw IoError(fmt::format(
            "Cannot listen on {}:{}: it is in use or not an address of this machine.", host, port));
    }
    // httplib lets five connections wait to be accepted; the system drops more of them, and their
    // clients try again after a second.
    ::listen(*listening, kBacklog);
    port_ = static_cast<std::uint16_t>(bound);
}

void HttpRun::run() {
    server_.listen_after_bind();
    has_ended_.set_value();
}

void HttpRun::stop() {
    using namespace std::chrono_literals;
    // httplib would ignore a stop before the server runs.
    const std::future<void> end = has_ended_.get_future();
    while (!server_.is_running() && end.wait_for(1ms) != std::future_status::ready) {
    }
    server_.stop();
}

std::string literal(const std::string& path) {
    std::string pattern;
    for (const char c : path) {
        if (std::string_view{".+*?()[]{}^$|\\"}.find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

std::string address_of(const httplib::Request& request, const std::string& proxy) {
    constexpr const char* kForwarded = "X-Forwarded-For";
    const auto headers = request.get_header_value_count(kForwarded);
    if (request.remote_addr != proxy || headers == 0) {
        return clean_text(request.remote_addr, kMaxAddressBytes);
    }
    const std::string forwarded = request.get_header_value(kForwarded, headers - 1);
    const auto comma = forwarded.rfind(',');
    return clean_text(comma == std::string::npos ? forwarded : forwarded.substr(comma + 1),
                      kMaxAddressBytes);
}

}  // namespace dedloc::server
