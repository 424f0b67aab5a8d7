#include "peer/net/nng_link.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::net {

namespace {

/// A body is made room for in pieces of this size: a forged length costs address space, not memory,
/// and what is zeroed is still in cache when the bytes arrive.
constexpr std::size_t kGrowth = std::size_t{256} << 10;
/// nng takes at most 8 pieces a write.
constexpr unsigned kMostPieces = 8;
/// What a queued frame counts for besides its bytes, so that empty frames are bounded too.
constexpr std::size_t kQueueOverhead = 64;

nng_duration milliseconds_of(std::chrono::milliseconds duration) {
    return static_cast<nng_duration>(duration.count());
}

}  // namespace

NngLink::NngLink(LinkId id, NngStream stream, const LinkLimits& limits, const EventSink& sink,
                 std::function<void(LinkId)> on_over)
    : id_(id),
      limits_(limits),
      sink_(sink),
      on_over_(std::move(on_over)),
      stream_(std::move(stream)),
      write_([](void* self) { static_cast<NngLink*>(self)->written(); }, this),
      read_([](void* self) { static_cast<NngLink*>(self)->received(); }, this),
      tick_([](void* self) { static_cast<NngLink*>(self)->ticked(); }, this) {
    nng_aio_set_timeout(read_.get(), milliseconds_of(limits_.silence_limit));
}

// Every operation begins under the lock and only while the link is not cut: on a closed stream it
// might never end. A cut sets the flag first and closes then, so it ends whatever began before it.
// nng calls back from other threads only, never from inside the call that begins.

void NngLink::start() {
    {
        const std::lock_guard lock(mutex_);
        if (!is_cut_) {
            operations_ += 2;
            nng_sleep_aio(milliseconds_of(limits_.ping_interval), tick_.get());
            read_more();
        }
    }
    operation_ended();
}

void NngLink::send(SharedBytes frame) {
    DEDLOC_CHECK(frame != nullptr, "a frame to send has no bytes");
    DEDLOC_CHECK(frame->size() <= limits_.frame_bytes, "a frame is over the limit", frame->size());
    {
        const std::lock_guard lock(mutex_);
        if (is_cut_ || is_closing_) return;
        if (queue_.empty() || queue_bytes_ + frame->size() <= limits_.queue_bytes) {
            enqueue(FrameKind::kData, std::move(frame));
            return;
        }
    }
    cut();
}

void NngLink::close() {
    const std::lock_guard lock(mutex_);
    if (is_cut_ || is_closing_) return;
    is_closing_ = true;
    enqueue(FrameKind::kGoodbye, nullptr);
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

void NngLink::enqueue(FrameKind kind, SharedBytes body) {
    const auto length = static_cast<std::uint32_t>(body ? body->size() : 0);
    queue_.push_back({{kFrameMagic, kind, length, 0}, std::move(body)});
    queue_bytes_ += queue_.back().size() + kQueueOverhead;
    if (std::exchange(is_writing_, true)) return;
    ++operations_;
    write_more();
}

/// Several queued frames go in one gathered write. Only one may be under way: writes can be
/// partial, and a second one would cut in between.
void NngLink::write_more() {
    nng_iov pieces[kMostPieces];
    unsigned count = 0;
    std::size_t skip = front_written_;
    const auto add = [&](const void* bytes, std::size_t size) {
        const std::size_t skipped = std::min(skip, size);
        skip -= skipped;
        if (size == skipped) return;
        auto* first = static_cast<char*>(const_cast<void*>(bytes)) + skipped;
        pieces[count++] = {first, size - skipped};
    };
    for (const Outgoing& frame : queue_) {
        if (count + 2 > kMostPieces) break;
        add(&frame.header, sizeof(frame.header));
        if (frame.body) add(frame.body->data(), frame.body->size());
    }
    nng_aio_set_iov(write_.get(), count, pieces);
    nng_stream_send(stream_.get(), write_.get());
}

void NngLink::written() {
    const bool is_good = write_.result() == 0;
    if (!is_good) cut();
    // Told before the next write begins: nothing of this link may follow its LinkClosed.
    for (std::size_t frames = is_good ? take_written() : 0; frames > 0; --frames) {
        sink_(event::FrameWritten{id_});
    }
    {
        const std::lock_guard lock(mutex_);
        is_writing_ = is_good && !queue_.empty() && !is_cut_;
        if (is_writing_) return write_more();
    }
    operation_ended();
}

/// Drops what has been written from the queue. How many frames of the protocol that were.
std::size_t NngLink::take_written() {
    const std::lock_guard lock(mutex_);
    std::size_t frames = 0;
    front_written_ += write_.count();
    while (!queue_.empty() && front_written_ >= queue_.front().size()) {
        const Outgoing& front = queue_.front();
        if (front.header.kind == FrameKind::kData) ++frames;
        front_written_ -= front.size();
        queue_bytes_ -= front.size() + kQueueOverhead;
        queue_.pop_front();
    }
    return frames;
}

/// The rest of the body, or as much of it as there is room for, and the header that follows it, in
/// one read.
void NngLink::read_more() {
    nng_iov pieces[2];
    unsigned count = 0;
    if (body_) {
        if (body_got_ == body_->size()) {
            body_->resize(std::min(body_length_, body_->size() + kGrowth));
        }
        pieces[count++] = {body_->data() + body_got_, body_->size() - body_got_};
    }
    if (!body_ || body_->size() == body_length_) {
        auto* rest = reinterpret_cast<char*>(&header_) + header_got_;
        pieces[count++] = {rest, sizeof(header_) - header_got_};
    }
    nng_aio_set_iov(read_.get(), count, pieces);
    nng_stream_recv(stream_.get(), read_.get());
}

void NngLink::received() {
    bool is_good = read_.result() == 0;
    try {
        is_good = is_good && consume(read_.count());
    } catch (const std::bad_alloc&) {
        is_good = false;
    }
    if (!is_good) cut();
    {
        const std::lock_guard lock(mutex_);
        is_held_back_ = !is_cut_ && !is_closing_ && holds_back();
        if (!is_cut_ && !is_held_back_) return read_more();
    }
    operation_ended();
}

/// Accounts for `count` bytes just read. False: the link must end.
bool NngLink::consume(std::size_t count) {
    if (body_) {
        const std::size_t part = std::min(count, body_->size() - body_got_);
        body_got_ += part;
        count -= part;
        if (body_got_ == body_length_) deliver();
    }
    header_got_ += count;
    if (header_got_ < sizeof(header_)) return true;
    header_got_ = 0;
    if (!is_valid(header_, limits_.frame_bytes)) return false;
    return begin_frame();
}

bool NngLink::begin_frame() {
    if (header_.kind == FrameKind::kGoodbye) return false;
    if (header_.kind == FrameKind::kPing) return true;
    body_ = std::make_shared<Buffer>();
    body_length_ = header_.length;
    body_got_ = 0;
    body_->reserve(body_length_);
    if (body_length_ == 0) deliver();
    return true;
}

void NngLink::deliver() {
    const SharedBytes frame = std::exchange(body_, nullptr);
    {
        const std::lock_guard lock(mutex_);
        if (is_cut_ || is_closing_) return;
        untaken_.push_back(frame->size());
        untaken_bytes_ += frame->size();
    }
    sink_(event::FrameReceived{id_, frame});
}

void NngLink::ticked() {
    bool is_too_late = false;
    {
        const std::lock_guard lock(mutex_);
        is_too_late = is_closing_ && ++ticks_since_close_ > 1;
        if (!is_cut_ && !is_too_late && tick_.result() == 0) {
            if (queue_.empty() && !is_closing_) enqueue(FrameKind::kPing, nullptr);
            nng_sleep_aio(milliseconds_of(limits_.ping_interval), tick_.get());
            return;
        }
    }
    if (is_too_late) cut();
    operation_ended();
}

void NngLink::operation_ended() {
    {
        const std::lock_guard lock(mutex_);
        if (--operations_ > 0) return;
    }
    sink_(event::LinkClosed{id_});
    on_over_(id_);
}

}  // namespace dedloc::net
