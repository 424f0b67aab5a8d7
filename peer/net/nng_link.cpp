#include "peer/net/nng_link.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::net {

namespace {

/// What a queued frame counts for besides its bytes, so that empty frames are bounded too.
constexpr std::size_t kQueueOverhead = 64;

/// So many ping intervals after the last frame pings get rarer.
constexpr int kLively = 3;

}  // namespace

NngLink::NngLink(LinkId id, Connection connection, const LinkLimits& limits, const EventSink& sink,
                 Owner owner)
    : id_(id),
      limits_(limits),
      sink_(sink),
      owner_(std::move(owner)),
      decoder_(std::move(connection.codec.decoder)),
      deliver_([this](const FrameHeader& header, SharedBytes body) {
          deliver(header, std::move(body));
      }),
      encoder_(std::move(connection.codec.encoder)),
      window_(std::move(connection.window)),
      pause_(limits.ping_interval),
      promised_(limits.ping_interval),
      sent_at_(Clock::now()),
      lively_until_(sent_at_ + kLively * limits.ping_interval),
      stream_(std::move(connection.stream)),
      write_([](void* self) { static_cast<NngLink*>(self)->written(); }, this),
      read_([](void* self) { static_cast<NngLink*>(self)->received(); }, this),
      tick_([](void* self) { static_cast<NngLink*>(self)->ticked(); }, this) {}

// Every operation begins under the lock and only while the link is not cut: on a closed stream it
// might never end. A cut sets the flag first and closes then, so it ends whatever began before it.
// nng calls back from other threads only, never from inside the call that begins.

void NngLink::start() {
    {
        const std::lock_guard lock(mutex_);
        if (!is_cut_) {
            operations_ += 2;
            read_more();
            tick_again();
        }
    }
    operation_ended();
}

void NngLink::send(Frame frame) {
    DEDLOC_CHECK(bool{frame}, "a frame to send has no bytes");
    DEDLOC_CHECK(frame.size() <= limits_.frame_bytes, "a frame is over the limit", frame.size());
    {
        const std::lock_guard lock(mutex_);
        if (is_cut_ || is_closing_) return;
        if (queue_.empty() || queue_bytes_ + frame.size() <= limits_.queue_bytes) {
            window_.queue(Clock::now(), frame.size());
            enqueue(FrameKind::kData, std::move(frame));
            liven();
            return;
        }
    }
    cut();
}

void NngLink::show(SharedBytes ticket) {
    const std::lock_guard lock(mutex_);
    if (!is_cut_ && !is_closing_) enqueue(FrameKind::kTicket, std::move(ticket));
}

void NngLink::close() {
    const std::lock_guard lock(mutex_);
    say_goodbye(LinkRefusal::kNone);
}

void NngLink::refuse(LinkRefusal why) {
    const std::lock_guard lock(mutex_);
    if (is_cut_ || is_closing_) return;
    why_ = describe(why);
    for (const OutgoingFrame& frame : queue_) queue_bytes_ -= frame.size() + kQueueOverhead;
    queue_.clear();
    say_goodbye(why);
}

void NngLink::say_goodbye(LinkRefusal reason) {
    if (is_cut_ || is_closing_) return;
    is_closing_ = true;
    close_by_ = Clock::now() + limits_.farewell;
    enqueue(FrameKind::kGoodbye, {}, static_cast<std::uint32_t>(reason));
    tick_.cancel();
    read_on();
}

void NngLink::cut() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_cut_, true)) return;
    }
    nng_stream_close(stream_.get());
    for (const NngAio* operation : {&write_, &read_, &tick_}) operation->cancel();
}

void NngLink::taken() {
    const std::lock_guard lock(mutex_);
    if (untaken_.empty()) return;
    untaken_bytes_ -= untaken_.front();
    untaken_.pop_front();
    if (!holds_back()) read_on();
}

/// Reads again if reading was held back.
void NngLink::read_on() {
    if (is_cut_ || !std::exchange(is_held_back_, false)) return;
    ++operations_;
    read_more();
}

bool NngLink::holds_back() const {
    return untaken_.size() >= limits_.untaken_frames || untaken_bytes_ >= limits_.untaken_bytes;
}

void NngLink::enqueue(FrameKind kind, Frame body, std::uint32_t detail) {
    const auto length = static_cast<std::uint32_t>(body.size());
    sent_at_ = Clock::now();
    queue_.push_back({{kFrameMagic, kind, length, detail}, std::move(body)});
    queue_bytes_ += queue_.back().size() + kQueueOverhead;
    if (std::exchange(is_writing_, true)) return;
    ++operations_;
    if (encoder_->is_costly()) {
        // Who sends does not seal: written() goes on, on a thread of nng, as after a write.
        nng_aio_begin(write_.get());
        nng_aio_finish(write_.get(), 0);
    } else {
        fill_encoder();
        write(encoder_->next());
    }
}

void NngLink::fill_encoder() {
    while (!queue_.empty() && encoder_->has_room()) {
        encoder_->add(std::move(queue_.front()));
        queue_.pop_front();
    }
}

/// Only one write may be under way: writes can be partial, and a second one would cut in between.
void NngLink::write(FrameEncoder::Pieces pieces) {
    nng_iov places[FrameEncoder::kMostPieces];
    unsigned count = 0;
    for (const auto& piece : pieces) {
        places[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    nng_aio_set_iov(write_.get(), count, places);
    nng_stream_send(stream_.get(), write_.get());
}

void NngLink::written() {
    const bool is_good = write_.result() == 0;
    if (!is_good) cut();
    // Told before the next write begins: nothing of this link may follow its LinkClosed.
    if (is_good) count_written();
    if (!is_good || !write_on()) operation_ended();
}

/// Begins the next write, if there is one.
bool NngLink::write_on() {
    {
        const std::lock_guard lock(mutex_);
        fill_encoder();
        is_writing_ = !encoder_->is_empty() && !is_cut_;
        if (!is_writing_) return false;
    }
    const auto pieces = encoder_->next();
    const std::lock_guard lock(mutex_);
    if (is_cut_) return false;
    write(pieces);
    return true;
}

/// What has left with the last write.
void NngLink::count_written() {
    const FrameEncoder::Written written = encoder_->written(write_.count());
    {
        const std::lock_guard lock(mutex_);
        queue_bytes_ -= written.bytes + written.frames * kQueueOverhead;
        window_.take(Clock::now(), written.data_frames);
    }
    tell_written();
}

void NngLink::tell_written() {
    std::size_t frames = 0;
    {
        const std::lock_guard lock(mutex_);
        frames = window_.count_written();
    }
    for (; frames > 0; --frames) sink_(event::FrameWritten{id_});
}

void NngLink::read_more() {
    nng_iov places[2];
    unsigned count = 0;
    for (const auto& place : decoder_->next()) {
        if (!place.empty()) places[count++] = {place.data(), place.size()};
    }
    nng_aio_set_iov(read_.get(), count, places);
    nng_stream_recv(stream_.get(), read_.get());
    // Who carries frames with us pings as often as we do, whatever it said before them.
    const auto next = pause_ == limits_.ping_interval ? pause_ : promised_;
    silent_at_ = Clock::now() + next + (limits_.silence_limit - limits_.ping_interval);
}

void NngLink::received() {
    bool is_good = read_.result() == 0;
    try {
        is_good = is_good && decoder_->read(read_.count(), deliver_) && !is_read_to_end_;
    } catch (const std::bad_alloc&) {
        is_good = false;
    }
    if (!is_good) cut();
    {
        const std::lock_guard lock(mutex_);
        if (is_good && decoder_->is_in_frame()) liven();
        is_held_back_ = !is_cut_ && !is_closing_ && holds_back();
        if (!is_cut_ && !is_held_back_) return read_more();
    }
    operation_ended();
}

void NngLink::deliver(const FrameHeader& header, SharedBytes body) {
    switch (header.kind) {
        case FrameKind::kData:
            return take_frame(std::move(body));
        case FrameKind::kPing: {
            const std::lock_guard lock(mutex_);
            promised_ = std::clamp(std::chrono::milliseconds{header.detail}, limits_.ping_interval,
                                   limits_.longest_ping_interval);
            return;
        }
        case FrameKind::kReceipt:
            return take_receipts(header.detail);
        case FrameKind::kGoodbye:
            return take_goodbye(static_cast<std::uint8_t>(header.detail));
        case FrameKind::kTicket:
            return take_ticket(*body);
    }
}

void NngLink::take_receipts(std::size_t count) {
    {
        const std::lock_guard lock(mutex_);
        is_read_to_end_ = !window_.confirm(Clock::now(), count);
    }
    if (!is_read_to_end_) tell_written();
}

void NngLink::take_goodbye(std::uint8_t reason) {
    is_read_to_end_ = true;
    const std::lock_guard lock(mutex_);
    if (reason != 0 && why_.empty()) why_ = describe_told(refusal_of(reason));
}

void NngLink::take_ticket(const Buffer& ticket) {
    {
        const std::lock_guard lock(mutex_);
        if (is_cut_ || is_closing_) return;
    }
    const LinkRefusal refusal = owner_.on_ticket(id_, ticket);
    if (refusal != LinkRefusal::kNone) refuse(refusal);
}

void NngLink::take_frame(SharedBytes frame) {
    {
        const std::lock_guard lock(mutex_);
        if (is_cut_ || is_closing_) return;
        untaken_.push_back(frame->size());
        untaken_bytes_ += frame->size();
        liven();
        if (is_large(frame->size())) confirm();
    }
    sink_(event::FrameReceived{id_, std::move(frame)});
}

/// A frame comes or goes: both ends ping often now, and expect each other to.
void NngLink::liven() {
    const auto now = Clock::now();
    lively_until_ = now + kLively * limits_.ping_interval;
    if (pause_ == limits_.ping_interval) return;
    pause_ = limits_.ping_interval;
    silent_at_ = std::min(silent_at_, now + limits_.silence_limit);
    tick_.cancel();  // it may have been going to sleep for long
}

/// A large frame has come. Who sends many and reads nothing is owed one receipt for all.
void NngLink::confirm() {
    if (!queue_.empty() && queue_.back().header.kind == FrameKind::kReceipt) {
        ++queue_.back().header.detail;
    } else {
        enqueue(FrameKind::kReceipt, {}, 1);
    }
}

void NngLink::ping() {
    const bool is_lively = Clock::now() < lively_until_;
    pause_ =
        is_lively ? limits_.ping_interval : std::min(2 * pause_, limits_.longest_ping_interval);
    // What is queued says as much.
    if (queue_.empty()) {
        enqueue(FrameKind::kPing, {}, static_cast<std::uint32_t>(pause_.count()));
    } else {
        sent_at_ = Clock::now();
    }
}

void NngLink::tick_again() {
    auto next = is_closing_ ? close_by_ : sent_at_ + pause_;
    if (!is_held_back_) next = std::min(next, silent_at_);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    nng_sleep_aio(static_cast<nng_duration>(std::max<std::int64_t>(wait.count(), 0)), tick_.get());
}

void NngLink::ticked() {
    bool is_over = false;
    {
        const std::lock_guard lock(mutex_);
        const auto now = Clock::now();
        const bool is_silent = !is_held_back_ && now >= silent_at_;
        is_over = is_cut_ || is_silent || now >= close_by_;
        if (!is_over) {
            if (!is_closing_ && now >= sent_at_ + pause_) ping();
            tick_again();
            return;
        }
    }
    cut();
    operation_ended();
}

void NngLink::operation_ended() {
    std::string why;
    {
        const std::lock_guard lock(mutex_);
        if (--operations_ > 0) return;
        why = std::move(why_);
    }
    sink_(event::LinkClosed{id_, std::move(why)});
    owner_.on_over(id_);
}

}  // namespace dedloc::net
