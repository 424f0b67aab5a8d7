#include "peer/net/nng_handshake.hpp"

#include <algorithm>
#include <utility>

namespace dedloc::net {

namespace {

/// Tickets are compared with the machine's clock, whatever the protocol's time is.
wire::UtcSeconds utc_now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

static_assert(Handshake::kHelloBytes <= Handshake::kSealedBytes);

NngHandshake::NngHandshake(NngStream stream, const Terms& terms, Revoked revoked,
                           std::function<void(NngHandshake&)> on_over)
    : session_(terms.session),
      patience_(terms.deadline),
      revoked_(std::move(revoked)),
      on_over_(std::move(on_over)),
      handshake_(*session_, terms.side, terms.expected),
      stream_(std::move(stream)),
      aio_([](void* self) { static_cast<NngHandshake*>(self)->ended(); }, this) {}

void NngHandshake::start() {
    until_ = std::chrono::steady_clock::now() + patience_;
    out_ = handshake_.begin();
    // Goes on like an operation that has ended: nothing of this runs on a caller's thread, which
    // might still be returning when it is over.
    nng_aio_begin(aio_.get());
    nng_aio_finish(aio_.get(), 0);
}

void NngHandshake::cut(LinkRefusal why) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_cut_, true)) return;
        why_ = why;
    }
    if (stream_) nng_stream_close(stream_.get());
    aio_.cancel();
}

std::string NngHandshake::sentence() const {
    if (why_ != LinkRefusal::kNone) return describe(why_);
    return handshake_.sentence();
}

/// Writes what is to be written, else reads what is to be read; else it is over.
void NngHandshake::proceed() {
    if (!begin_operation()) over();
}

void NngHandshake::over() {
    if (!is_proven() && stream_) nng_stream_close(stream_.get());
    on_over_(*this);
}

/// An operation begins under the lock and only while nobody has cut: on a closed stream it might
/// never end.
bool NngHandshake::begin_operation() {
    const bool writes = out_written_ < out_.size();
    const bool reads = handshake_.wants() > in_got_;
    if (!writes && !reads) {
        const std::lock_guard lock(mutex_);
        is_cut_ = true;  // over: whoever cuts now is too late
        return false;
    }
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
        until_ - std::chrono::steady_clock::now());
    const std::lock_guard lock(mutex_);
    if (!is_cut_ && rest.count() <= 0) {
        why_ = LinkRefusal::kTooSlow;
        is_cut_ = true;
    }
    if (is_cut_) return false;
    nng_aio_set_timeout(aio_.get(), static_cast<nng_duration>(rest.count()));
    nng_iov piece = writes ? nng_iov{out_.data() + out_written_, out_.size() - out_written_}
                           : nng_iov{in_.data() + in_got_, handshake_.wants() - in_got_};
    nng_aio_set_iov(aio_.get(), 1, &piece);
    if (writes) {
        if (out_written_ == 0) asked_at_ = std::chrono::steady_clock::now();
        nng_stream_send(stream_.get(), aio_.get());
    } else {
        nng_stream_recv(stream_.get(), aio_.get());
    }
    return true;
}

void NngHandshake::ended() {
    const int status = aio_.result();
    if (status != 0) {
        {
            const std::lock_guard lock(mutex_);
            if (!std::exchange(is_cut_, true) && !handshake_.is_refused()) {
                why_ = status == NNG_ETIMEDOUT ? LinkRefusal::kTooSlow : LinkRefusal::kHungUp;
            }
        }
        return over();
    }
    if (out_written_ < out_.size()) {
        out_written_ += aio_.count();
    } else {
        take_in(aio_.count());
    }
    proceed();
}

void NngHandshake::take_in(std::size_t count) {
    in_got_ += count;
    if (in_got_ < handshake_.wants()) return;
    if (asked_at_) {
        round_trip_ = std::min<std::chrono::nanoseconds>(
            round_trip_, std::chrono::steady_clock::now() - *asked_at_);
    }
    const auto message = std::span{in_}.first(std::exchange(in_got_, 0));
    out_ = handshake_.take(message, utc_now(), *revoked_());
    out_written_ = 0;
}

}  // namespace dedloc::net
