// Alternates between writing the handshake's answer and reading its next message, until neither is
// left. A refusal is written before the handshake counts as over. Every handler checks is_over_
// first, because Asio also calls handlers of a closed socket. If the connection fails after a
// refusal, the refusal stays the reported reason.
#include "peer/net/tcp/tcp_handshake.hpp"
#include "peer/platform/clock.hpp"

#include <algorithm>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <span>
#include <utility>

namespace dedloc::net {

static_assert(Handshake::kHelloBytes <= Handshake::kSealedBytes);

TcpHandshake::TcpHandshake(TcpSocket socket, const Terms& terms,
                           const formats::Revocations& revoked, Owner owner)
    : session_(terms.session),
      timeout_(terms.deadline),
      revoked_(revoked),
      owner_(std::move(owner)),
      handshake_(*session_, terms.side, terms.expected),
      socket_(std::move(socket)),
      deadline_(socket_.get_executor()) {}

void TcpHandshake::start() {
    deadline_.expires_after(timeout_);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) self->failed(LinkRefusal::kTooSlow);
    });
    out_ = handshake_.begin();
    proceed();
}

void TcpHandshake::cut(LinkRefusal why) {
    if (is_over_) return;
    why_ = why;
    over();
}

std::string TcpHandshake::sentence() const {
    if (why_ != LinkRefusal::kNone) return describe(why_);
    return handshake_.sentence();
}

/// Writes the pending answer, else reads the next message, else ends the handshake.
void TcpHandshake::proceed() {
    if (!out_.empty()) {
        asked_at_ = Clock::now();
        asio::async_write(socket_, asio::buffer(out_),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (!self->goes_on(error)) return;
                              self->out_.clear();
                              self->proceed();
                          });
    } else if (handshake_.wants() > 0) {
        asio::async_read(socket_, asio::buffer(in_.data(), handshake_.wants()),
                         [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (!self->goes_on(error)) return;
                             self->take_in();
                             self->proceed();
                         });
    } else {
        over();
    }
}

bool TcpHandshake::goes_on(const error_code& error) {
    if (error) failed(LinkRefusal::kHungUp);
    return !is_over_;
}

/// Ends the handshake; its own refusal takes precedence over `why`.
void TcpHandshake::failed(LinkRefusal why) {
    cut(handshake_.is_refused() ? LinkRefusal::kNone : why);
}

void TcpHandshake::over() {
    is_over_ = true;
    deadline_.cancel();
    if (!is_proven()) {
        error_code ignored;
        socket_.close(ignored);
    }
    owner_.on_over(*this);
}

void TcpHandshake::take_in() {
    if (asked_at_) {
        round_trip_ = std::min<std::chrono::nanoseconds>(round_trip_, Clock::now() - *asked_at_);
    }
    out_ = handshake_.take(std::span{in_}.first(handshake_.wants()), platform::utc_now(), revoked_,
                           owner_.has_place());
    if (!handshake_.is_refused() && !std::exchange(has_hello_, true)) owner_.on_hello();
}

}  // namespace dedloc::net
