// Reading and writing try the socket directly and wait for Asio only when it would block; after
// kTurnBytes other flows get their turn. Frames queued in one turn are written after it, together.
// Calls of the owner may end the link and stop this flow, so is_over_ is checked after each of
// them; every handler holds the owner.
#include "peer/net/tcp/tcp_flow.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <span>
#include <utility>

namespace dedloc::net {

namespace {

/// After reading or writing this many bytes, other flows get their turn.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

}  // namespace

TcpFlow::TcpFlow(TcpSocket socket, FrameCodec codec, LinkTraffic& traffic, FlowOwner& owner)
    : traffic_(traffic),
      owner_(owner),
      decoder_(std::move(codec.decoder)),
      deliver_([this](const FrameHeader& header, SharedBytes body) {
          if (header.kind == FrameKind::kGoodbye) is_read_to_end_ = true;
          if (!is_over_ && !owner_.on_frame(*this, header, std::move(body))) is_invalid_ = true;
      }),
      encoder_(std::move(codec.encoder)),
      socket_(std::move(socket)) {}

bool TcpFlow::start() {
    error_code error;
    socket_.non_blocking(true, error);
    if (error) return false;
    read_more();
    return true;
}

void TcpFlow::stop() {
    if (std::exchange(is_over_, true)) return;
    error_code ignored;
    socket_.close(ignored);
}

// --- writing -----------------------------------------------------------------

void TcpFlow::enqueue(OutgoingFrame frame) {
    queue_.push_back(std::move(frame));
    write_more();
}

void TcpFlow::write_more() {
    if (!is_over_ && !std::exchange(is_writing_, true)) write_soon();
}

/// Posted, so that frames queued by the current handler are written together.
void TcpFlow::write_soon() {
    asio::post(socket_.get_executor(),
               [this, held = owner_.hold()] { write(traffic_.upload.allowance()); });
}

/// Writes until the socket would block, the turn is over, or `allowed` bytes are written.
void TcpFlow::write(std::size_t allowed) {
    for (std::size_t turn = 0; !is_over_;) {
        is_writing_ = fill_encoder();
        if (!is_writing_) return;
        if (encoder_->is_empty()) return write_when_possible();
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
        if (error && error != asio::error::would_block) return owner_.on_broken();
        turn += written;
        traffic_.sent += written;
        traffic_.upload.spend(written);
        if (written > 0) count_written(written);
        if (written < offered) return write_when_possible();
    }
}

/// Moves queued frames into the encoder. A frame of the owner enters it alone, and only when TCP
/// holds little: what a flow has taken, no other flow can write. False: there is nothing to write.
bool TcpFlow::fill_encoder() {
    const auto add = [this](OutgoingFrame frame) {
        if (frame.header.kind == FrameKind::kData) numbers_.push_back(frame.header.detail);
        encoder_->add(std::move(frame));
    };
    for (; !queue_.empty() && encoder_->has_space(); queue_.pop_front()) {
        add(std::move(queue_.front()));
    }
    if (!encoder_->is_empty()) return true;
    if (!owner_.has_frame()) return false;
    if (!is_full(socket_.native_handle())) add(owner_.next_frame());
    return true;
}

void TcpFlow::write_when_possible() {
    if (is_over_) return;
    socket_.async_wait(tcp::socket::wait_write, [this, held = owner_.hold()](const error_code&) {
        write(traffic_.upload.allowance());
    });
}

void TcpFlow::write_when_allowed() {
    traffic_.upload.when_allowed(
        [this, held = owner_.hold()](std::size_t allowed) { write(allowed); });
}

/// Accounts for the frames that the last write has completed.
void TcpFlow::count_written(std::size_t bytes) {
    const FrameEncoder::Written written = encoder_->written(bytes);
    for (std::size_t left = written.data_frames; left > 0; --left) {
        owner_.on_taken(numbers_.front());
        numbers_.pop_front();
    }
    owner_.on_written(written.frames, written.bytes);
}

// --- reading -----------------------------------------------------------------

std::array<asio::mutable_buffer, 2> TcpFlow::places(std::size_t allowed) {
    const FrameDecoder::Places places = decoder_->next();
    const std::size_t first = std::min(places[0].size(), allowed);
    const std::size_t second = std::min(places[1].size(), allowed - first);
    wanted_ = first + second;
    return {asio::mutable_buffer(places[0].data(), first),
            asio::mutable_buffer(places[1].data(), second)};
}

void TcpFlow::resume() {
    if (std::exchange(is_held_back_, false) && !is_over_) read_more();
}

/// Reads as soon as data is there and may be read.
void TcpFlow::read_more() {
    const std::size_t allowed = traffic_.download.allowance();
    if (allowed > 0) return read(allowed);
    awaits_allowance_ = true;
    traffic_.download.when_allowed([this, held = owner_.hold()](std::size_t later) {
        awaits_allowance_ = false;
        if (!is_over_) read(later);
    });
}

/// Reads at most so many bytes as soon as data is there.
void TcpFlow::read(std::size_t allowed) {
    owner_.on_reading();
    socket_.async_read_some(
        places(allowed), [this, held = owner_.hold()](const error_code& error, std::size_t bytes) {
            received(error, bytes);
        });
}

void TcpFlow::received(error_code error, std::size_t bytes) {
    for (std::size_t turn = bytes; !is_over_; turn += bytes) {
        if (error == asio::error::would_block) return read_more();
        traffic_.received += bytes;
        traffic_.download.spend(bytes);
        if (error || !decode(bytes)) return owner_.on_broken();
        if (is_over_) return;
        if (is_read_to_end_) return owner_.on_read_to_end();
        if (decoder_->is_in_frame()) owner_.on_part();
        is_held_back_ = owner_.holds_back();
        if (is_held_back_) return;
        if (bytes < wanted_ || turn >= kTurnBytes) return read_more();
        const std::size_t allowed = traffic_.download.allowance();
        if (allowed == 0) return read_more();
        bytes = socket_.read_some(places(allowed), error);
    }
}

/// False: the link must end.
bool TcpFlow::decode(std::size_t bytes) {
    try {
        return decoder_->read(bytes, deliver_) && !is_invalid_;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace dedloc::net
