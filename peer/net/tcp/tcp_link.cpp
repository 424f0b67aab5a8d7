// Reading and writing try the socket directly and wait for Asio only when it would block; after
// kTurnBytes other links get their turn. Frames queued in one turn are written after it, together.
// Callbacks of the owner and the sink may cut the link, so is_over_ is checked after each of them.
// One timer serves pings, the silence timeout and the farewell: call tick_again() whenever one of
// these times becomes earlier. cut() is the only end of a link and happens once.
#include "peer/net/tcp/tcp_link.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <new>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::net {

namespace {

/// Added to the size of each queued frame, so that the number of empty frames is bounded too.
constexpr std::size_t kQueueOverhead = 64;

/// After reading or writing this many bytes, other links get their turn.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

/// Pings become rarer this many ping intervals after the last frame.
constexpr int kLively = 3;

}  // namespace

TcpLink::TcpLink(LinkId id, Connection connection, const LinkLimits& limits, LinkTraffic& traffic,
                 const EventSink& sink, Owner owner)
    : id_(id),
      limits_(limits),
      traffic_(traffic),
      sink_(sink),
      owner_(std::move(owner)),
      decoder_(std::move(connection.codec.decoder)),
      deliver_([this](const FrameHeader& header, SharedBytes body) {
          deliver(header, std::move(body));
      }),
      encoder_(std::move(connection.codec.encoder)),
      socket_(std::move(connection.socket)),
      tick_(socket_.get_executor()),
      window_(std::move(connection.window)),
      pause_(limits.ping_interval),
      promised_(limits.ping_interval),
      sent_at_(Clock::now()),
      lively_until_(sent_at_ + kLively * limits.ping_interval) {}

void TcpLink::start() {
    error_code error;
    socket_.non_blocking(true, error);
    if (error) return cut();
    read_more();
    tick_again();
}

void TcpLink::send(Frame frame) {
    if (is_over_ || is_closing_) return;
    if (!queue_.empty() && queue_bytes_ + frame.size() > limits_.queue_bytes) return cut();
    window_.queue(Clock::now(), frame.size());
    enqueue(FrameKind::kData, std::move(frame));
    liven();
}

void TcpLink::show(SharedBytes ticket) {
    if (!is_over_ && !is_closing_) enqueue(FrameKind::kTicket, std::move(ticket));
}

void TcpLink::close() {
    say_goodbye(LinkRefusal::kNone);
}

void TcpLink::refuse(LinkRefusal why) {
    if (is_over_ || is_closing_) return;
    why_ = describe(why);
    for (const OutgoingFrame& frame : queue_) queue_bytes_ -= frame.size() + kQueueOverhead;
    queue_.clear();
    say_goodbye(why);
}

void TcpLink::say_goodbye(LinkRefusal reason) {
    if (is_over_ || is_closing_) return;
    is_closing_ = true;
    close_by_ = Clock::now() + limits_.farewell;
    enqueue(FrameKind::kGoodbye, {}, static_cast<std::uint32_t>(reason));
    tick_again();
    hold_back(false);
}

void TcpLink::cut() {
    if (std::exchange(is_over_, true)) return;
    error_code ignored;
    socket_.close(ignored);
    tick_.cancel();
    hold_back(false);
    sink_(event::LinkClosed{id_, std::move(why_)});
    owner_.on_over(id_);
}

void TcpLink::taken() {
    if (untaken_.empty()) return;
    untaken_bytes_ -= untaken_.front();
    untaken_.pop_front();
    if (!holds_back()) hold_back(false);
}

bool TcpLink::holds_back() const {
    return untaken_.size() >= limits_.untaken_frames || untaken_bytes_ >= limits_.untaken_bytes;
}

/// True: stops reading. False: resumes it if it had stopped.
void TcpLink::hold_back(bool now) {
    if (now == std::exchange(is_held_back_, now)) return;
    owner_.on_held_back(now);
    if (!now && !is_over_) read_more();
}

// --- writing -----------------------------------------------------------------

void TcpLink::enqueue(FrameKind kind, Frame body, std::uint32_t detail) {
    const auto length = static_cast<std::uint32_t>(body.size());
    sent_at_ = Clock::now();
    queue_.push_back({{kFrameMagic, kind, length, detail}, std::move(body)});
    queue_bytes_ += queue_.back().size() + kQueueOverhead;
    if (!std::exchange(is_writing_, true)) write_soon();
}

/// Posted, so that frames queued by the current handler are written together.
void TcpLink::write_soon() {
    asio::post(socket_.get_executor(),
               [self = shared_from_this()] { self->write(self->traffic_.upload.allowance()); });
}

/// Writes until the socket would block, the turn is over, or `allowed` bytes are written.
void TcpLink::write(std::size_t allowed) {
    for (std::size_t turn = 0; !is_over_;) {
        while (!queue_.empty() && encoder_->has_space()) {
            encoder_->add(std::move(queue_.front()));
            queue_.pop_front();
        }
        is_writing_ = !encoder_->is_empty();
        if (!is_writing_) return;
        if (turn >= allowed) return write_when_allowed();
        if (turn >= kTurnBytes) return write_soon();
        std::array<asio::const_buffer, FrameEncoder::kMaxPieces> pieces;
        std::size_t count = 0;
        std::size_t offered = 0;
        for (const auto& piece : encoder_->next()) {
            const std::size_t size = std::min(piece.size(), allowed - turn - offered);
            if (size == 0) break;
            pieces[count++] = asio::const_buffer(piece.data(), size);
            offered += size;
        }
        error_code error;
        const std::size_t written = socket_.write_some(std::span{pieces}.first(count), error);
        if (error && error != asio::error::would_block) return cut();
        turn += written;
        traffic_.sent += written;
        traffic_.upload.spend(written);
        if (written > 0) count_written(written);
        if (written < offered) return write_when_possible();
    }
}

void TcpLink::write_when_possible() {
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code&) {
        self->write(self->traffic_.upload.allowance());
    });
}

void TcpLink::write_when_allowed() {
    traffic_.upload.when_allowed(
        [self = shared_from_this()](std::size_t allowed) { self->write(allowed); });
}

/// Accounts for the frames that the last write has completed.
void TcpLink::count_written(std::size_t bytes) {
    const FrameEncoder::Written written = encoder_->written(bytes);
    queue_bytes_ -= written.bytes + written.frames * kQueueOverhead;
    window_.take(Clock::now(), written.data_frames);
    tell_written();
}

void TcpLink::tell_written() {
    for (std::size_t frames = window_.count_written(); frames > 0; --frames) {
        sink_(event::FrameWritten{id_});
    }
}

// --- reading -----------------------------------------------------------------

std::array<asio::mutable_buffer, 2> TcpLink::places(std::size_t allowed) {
    const FrameDecoder::Places places = decoder_->next();
    const std::size_t first = std::min(places[0].size(), allowed);
    const std::size_t second = std::min(places[1].size(), allowed - first);
    wanted_ = first + second;
    return {asio::mutable_buffer(places[0].data(), first),
            asio::mutable_buffer(places[1].data(), second)};
}

/// Reads as soon as data is there and may be read.
void TcpLink::read_more() {
    const std::size_t allowed = traffic_.download.allowance();
    if (allowed > 0) return read(allowed);
    awaits_allowance_ = true;
    traffic_.download.when_allowed([self = shared_from_this()](std::size_t later) {
        self->awaits_allowance_ = false;
        if (!self->is_over_) self->read(later);
    });
}

/// Reads at most so many bytes as soon as data is there, and restarts the silence timeout.
void TcpLink::read(std::size_t allowed) {
    // A link that carries frames makes both ends ping often: the earlier announcement is void.
    const auto next = pause_ == limits_.ping_interval ? pause_ : promised_;
    silent_at_ = Clock::now() + next + (limits_.silence_timeout - limits_.ping_interval);
    socket_.async_read_some(
        places(allowed), [self = shared_from_this()](const error_code& error, std::size_t bytes) {
            self->received(error, bytes);
        });
}

void TcpLink::received(error_code error, std::size_t bytes) {
    for (std::size_t turn = bytes; !is_over_; turn += bytes) {
        if (error == asio::error::would_block) return read_more();
        traffic_.received += bytes;
        traffic_.download.spend(bytes);
        if (error || !decode(bytes)) return cut();
        if (decoder_->is_in_frame()) liven();
        if (!is_closing_ && holds_back()) return hold_back(true);
        if (bytes < wanted_ || turn >= kTurnBytes) return read_more();
        const std::size_t allowed = traffic_.download.allowance();
        if (allowed == 0) return read_more();
        bytes = socket_.read_some(places(allowed), error);
    }
}

/// False: the link must end.
bool TcpLink::decode(std::size_t bytes) {
    try {
        return decoder_->read(bytes, deliver_) && !is_read_to_end_;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void TcpLink::deliver(const FrameHeader& header, SharedBytes body) {
    switch (header.kind) {
        case FrameKind::kData:
            return take_frame(std::move(body));
        case FrameKind::kPing:
            promised_ = std::clamp(std::chrono::milliseconds{header.detail}, limits_.ping_interval,
                                   limits_.longest_ping_interval);
            return;
        case FrameKind::kReceipt:
            return take_receipts(header.detail);
        case FrameKind::kGoodbye:
            return take_goodbye(static_cast<std::uint8_t>(header.detail));
        case FrameKind::kTicket:
            return take_ticket(*body);
    }
}

void TcpLink::take_receipts(std::size_t count) {
    is_read_to_end_ = !window_.confirm(Clock::now(), count);
    if (!is_read_to_end_) tell_written();
}

void TcpLink::take_goodbye(std::uint8_t reason) {
    is_read_to_end_ = true;
    if (reason != 0 && why_.empty()) why_ = describe_told(refusal_of(reason));
}

void TcpLink::take_ticket(const Buffer& ticket) {
    if (is_closing_) return;
    const LinkRefusal refusal = owner_.on_ticket(id_, ticket);
    if (refusal != LinkRefusal::kNone) refuse(refusal);
}

void TcpLink::take_frame(SharedBytes frame) {
    if (is_closing_) return;
    if (!std::exchange(has_taken_frame_, true)) owner_.on_first_frame(id_);
    untaken_.push_back(frame->size());
    untaken_bytes_ += frame->size();
    liven();
    if (is_large(frame->size())) confirm();
    sink_(event::FrameReceived{id_, std::move(frame)});
}

/// Confirms a large frame. Consecutive receipts in the queue are merged into one, also when the
/// other end reads nothing.
void TcpLink::confirm() {
    if (!queue_.empty() && queue_.back().header.kind == FrameKind::kReceipt) {
        ++queue_.back().header.detail;
    } else {
        enqueue(FrameKind::kReceipt, {}, 1);
    }
}

// --- time --------------------------------------------------------------------

/// A data frame was sent or received: both ends now ping often and expect frequent pings.
void TcpLink::liven() {
    const auto now = Clock::now();
    lively_until_ = now + kLively * limits_.ping_interval;
    if (pause_ == limits_.ping_interval) return;
    pause_ = limits_.ping_interval;
    silent_at_ = std::min(silent_at_, now + limits_.silence_timeout);
    tick_again();  // the timer may be set to a later time
}

void TcpLink::ping() {
    const bool is_lively = Clock::now() < lively_until_;
    pause_ =
        is_lively ? limits_.ping_interval : std::min(2 * pause_, limits_.longest_ping_interval);
    // A queued frame shows as well that this end is alive.
    if (queue_.empty()) {
        enqueue(FrameKind::kPing, {}, static_cast<std::uint32_t>(pause_.count()));
    } else {
        sent_at_ = Clock::now();
    }
}

void TcpLink::tick_again() {
    auto next = is_closing_ ? close_by_ : sent_at_ + pause_;
    if (is_reading()) next = std::min(next, silent_at_);
    tick_.expires_at(next);
    tick_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) self->ticked();
    });
}

void TcpLink::ticked() {
    if (is_over_) return;
    const auto now = Clock::now();
    const bool is_silent = is_reading() && now >= silent_at_;
    if (is_silent || now >= close_by_) return cut();
    if (!is_closing_ && now >= sent_at_ + pause_) ping();
    tick_again();
}

}  // namespace dedloc::net
