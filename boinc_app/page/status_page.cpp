// A small HTTP server: one thread runs an io_context that owns the listener and all connections.
// Beast parses the requests, from memory: to compile its reading and writing of sockets takes as
// long as all the rest of this file.
#include "boinc_app/page/status_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc::page {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr int kMaxConnections = 4;
constexpr auto kLimit = 2s;                ///< a connection ends after this time
constexpr auto kAfterFailedAccept = 1s;    ///< pause after a failed accept
constexpr std::uint32_t kMaxHead = 8'192;  ///< bytes of a request's head

/// A whole answer. `status`: code and reason.
std::string answer(std::string_view status, std::string_view type, std::string_view text) {
    return fmt::format(
        "HTTP/1.1 {}\r\n"
        "Content-Type: {}; charset=utf-8\r\n"
        "Cache-Control: no-store\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
        "frame-ancestors 'none'\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n"
        "Content-Length: {}\r\n\r\n{}",
        status, type, text.size(), text);
}

std::string refusal(std::string_view status, std::string_view why) {
    return answer(status, "text/plain", why);
}

/// One connection: a request, an answer, the end. It lives as long as an operation of it.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(tcp::socket socket, std::string host, const std::function<Picture()>& picture,
               int& open)
        : socket_(std::move(socket)),
          limit_(socket_.get_executor()),
          host_(std::move(host)),
          picture_(picture),
          open_(open) {
        ++open_;
        parser_.header_limit(kMaxHead);
        parser_.body_limit(0);
        parser_.eager(true);  // a call parses as much as has arrived
    }
    ~Connection() { --open_; }

    void begin() {
        limit_.expires_after(kLimit);
        limit_.async_wait([self = weak_from_this()](error_code stopped) {
            const auto connection = self.lock();
            if (stopped || !connection) return;
            error_code ignored;
            connection->socket_.close(ignored);
        });
        read();
    }

  private:
    void read() {
        const asio::mutable_buffer rest = asio::buffer(bytes_) + size_;
        socket_.async_read_some(rest,
                                [self = shared_from_this()](error_code error, std::size_t count) {
                                    if (!error) self->parse(count);
                                });
    }
    /// The parser wants what it has not used again, followed by more.
    void parse(std::size_t count) {
        size_ += count;
        error_code error;
        const std::size_t used = parser_.put(asio::buffer(bytes_, size_), error);
        std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(used),
                  bytes_.begin() + static_cast<std::ptrdiff_t>(size_), bytes_.begin());
        size_ -= used;
        if (error && error != http::error::need_more) return;
        if (parser_.is_done()) return reply();
        if (size_ < bytes_.size()) read();
    }
    std::string answer_of(const http::request<http::empty_body>& request) const {
        const auto host = request[http::field::host];
        if (std::string_view{host.data(), host.size()} != host_) {
            return refusal("421 Misdirected Request", "This page is at " + host_ + ".\n");
        }
        if (request.method() != http::verb::get) {
            return refusal("405 Method Not Allowed", "Only GET is answered.\n");
        }
        if (request.target() != "/") return refusal("404 Not Found", "The only page is /.\n");
        return answer("200 OK", "text/html", status_html(picture_()));
    }
    void reply() {
        answer_ = answer_of(parser_.get());
        asio::async_write(socket_, asio::buffer(answer_),
                          [self = shared_from_this()](error_code, std::size_t) {
                              error_code ignored;
                              self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
                          });
    }

    tcp::socket socket_;
    asio::steady_timer limit_;
    const std::string host_;
    const std::function<Picture()>& picture_;
    int& open_;
    std::array<char, 2 * kMaxHead> bytes_{};  ///< the first size_ have arrived and are not parsed
    std::size_t size_ = 0;
    http::request_parser<http::empty_body> parser_;
    std::string answer_;
};

}  // namespace

class StatusPage::Impl {
  public:
    explicit Impl(std::function<Picture()> picture)
        : picture_(std::move(picture)), acceptor_(io_), retry_(io_) {
        try {
            const tcp::endpoint loopback{asio::ip::address_v4::loopback(), 0};
            acceptor_.open(loopback.protocol());
            acceptor_.bind(loopback);
            acceptor_.listen(kMaxConnections);
            host_ = fmt::format("127.0.0.1:{}", acceptor_.local_endpoint().port());
        } catch (const boost::system::system_error& error) {
            throw IoError{fmt::format("no port of 127.0.0.1 for the status page: {}",
                                      error.code().message())};
        }
        accept();
        const platform::SignalsBlocked blocked;
        thread_ = std::thread([this] { io_.run(); });
    }
    ~Impl() {
        io_.stop();
        thread_.join();
    }
    const std::string& host() const { return host_; }

  private:
    void accept() {
        acceptor_.async_accept([this](error_code error, tcp::socket socket) {
            if (error) {
                retry_.expires_after(kAfterFailedAccept);
                retry_.async_wait([this](error_code stopped) {
                    if (!stopped) accept();
                });
                return;
            }
            if (open_ < kMaxConnections) {
                std::make_shared<Connection>(std::move(socket), host_, picture_, open_)->begin();
            }
            accept();
        });
    }

    const std::function<Picture()> picture_;
    int open_ = 0;  ///< connections; before io_, which destroys the last of them
    asio::io_context io_;
    tcp::acceptor acceptor_;
    asio::steady_timer retry_;
    std::string host_;
    std::thread thread_;
};

StatusPage::StatusPage(std::function<Picture()> picture)
    : impl_(std::make_unique<Impl>(std::move(picture))) {}

StatusPage::~StatusPage() = default;

std::string StatusPage::url() const {
    return fmt::format("http://{}/", impl_->host());
}

}  // namespace dedloc::page
