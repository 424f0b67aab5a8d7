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
static_assert(FlowHandshake::kAttachBytes == Handshake::kHelloBytes);
static_assert(FlowHandshake::kFlowBytes <= Handshake::kSealedBytes);

TcpHandshake::TcpHandshake(TcpSocket socket, const Terms& terms,
                           const formats::Revocations& revoked, Owner owner)
    : session_(terms.session),
      side_(terms.side),
      timeout_(terms.deadline),
      revoked_(revoked),
      owner_(std::move(owner)),
      handshake_(*session_, terms.side, terms.expected),
      flow_(terms.link ? std::make_unique<FlowHandshake>(*terms.link) : nullptr),
      socket_(std::move(socket)),
      deadline_(socket_.get_executor()) {}

void TcpHandshake::start() {
    deadline_.expires_after(timeout_);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) self->failed(LinkRefusal::kTooSlow);
    });
    out_ = flow_ ? flow_->begin() : handshake_.begin();
    proceed();
}

void TcpHandshake::cut(LinkRefusal why) {
    if (is_over_) return;
    why_ = why;
    over();
}

std::string TcpHandshake::sentence() const {
    if (why_ != LinkRefusal::kNone) return describe(why_);
    return flow_ ? flow_->sentence() : handshake_.sentence();
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
    } else if (wants() > 0) {
        asio::async_read(socket_, asio::buffer(in_.data(), wants()),
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
    cut(is_refused() ? LinkRefusal::kNone : why);
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
    const auto message = std::span{in_}.first(wants());
    const bool is_first = !std::exchange(has_message_, true);
    if (is_first && side_ == Side::kListener && FlowHandshake::is_attach(message)) {
        flow_ = std::make_unique<FlowHandshake>(owner_.find_link);
    }
    out_ = flow_ ? flow_->take(message)
                 : handshake_.take(message, platform::utc_now(), revoked_, owner_.admit);
    if (!is_refused() && is_first) owner_.on_hello();
}

}  // namespace dedloc::net
