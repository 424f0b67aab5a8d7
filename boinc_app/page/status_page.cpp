// A small HTTP server: one thread runs an io_context that owns the listener and all connections.
#include "boinc_app/page/status_page.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/signals_blocked.hpp"

namespace dedloc::page {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr int kMaxConnections = 4;
constexpr auto kLimit = 2s;                ///< a connection ends after this time
constexpr auto kAfterFailedAccept = 1s;    ///< pause after a failed accept
constexpr std::uint32_t kMaxHead = 8'192;  ///< bytes of a request's head

using Answer = http::response<http::string_body>;

Answer answer(http::status status, std::string text) {
    Answer out{status, 11};
    const bool is_page = status == http::status::ok;
    out.set(http::field::content_type,
            is_page ? "text/html; charset=utf-8" : "text/plain; charset=utf-8");
    out.set(http::field::cache_control, "no-store");
    out.set("Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    out.set("X-Content-Type-Options", "nosniff");
    out.keep_alive(false);
    out.body() = std::move(text);
    out.prepare_payload();
    return out;
}

/// One connection: a request, an answer, the end. It lives as long as an operation of it.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(tcp::socket socket, std::string host, const std::function<Picture()>& picture,
               int& open)
        : stream_(std::move(socket)), host_(std::move(host)), picture_(picture), open_(open) {
        ++open_;
        parser_.header_limit(kMaxHead);
        parser_.body_limit(0);
    }
    ~Connection() { --open_; }

    void begin() {
        stream_.expires_after(kLimit);
        http::async_read(stream_, buffer_, parser_,
                         [self = shared_from_this()](error_code error, std::size_t) {
                             if (error) return;
                             self->reply();
                         });
    }

  private:
    Answer answer_of(const http::request<http::empty_body>& request) const {
        const auto host = request[http::field::host];
        if (std::string_view{host.data(), host.size()} != host_) {
            return answer(http::status::misdirected_request, "This page is at " + host_ + ".\n");
        }
        if (request.method() != http::verb::get) {
            return answer(http::status::method_not_allowed, "Only GET is answered.\n");
        }
        if (request.target() != "/") {
            return answer(http::status::not_found, "The only page is /.\n");
        }
        return answer(http::status::ok, status_html(picture_()));
    }
    void reply() {
        answer_ = answer_of(parser_.get());
        http::async_write(stream_, answer_, [self = shared_from_this()](error_code, std::size_t) {
            error_code ignored;
            self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        });
    }

    beast::tcp_stream stream_;
    const std::string host_;
    const std::function<Picture()>& picture_;
    int& open_;
    beast::flat_buffer buffer_{2 * kMaxHead};
    http::request_parser<http::empty_body> parser_;
    Answer answer_;
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
