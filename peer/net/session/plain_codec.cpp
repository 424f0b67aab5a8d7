// The encoder keeps a few frames and returns their headers and bodies as one gathered write,
// without a copy. The decoder reads a body and the header after it with one call where the body
// fits into its buffer. That buffer grows by kPieceBytes at a time, as the bytes arrive, so that a
// forged length does not cost memory.
#include <algorithm>
#include <deque>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/net/session/frame_codec.hpp"

namespace dedloc::net {
namespace {

/// A header and the pieces of one body.
constexpr std::size_t kPiecesOfOne = 1 + Frame::kMaxPieces;

/// Writes several frames with one gathered write.
class PlainEncoder final : public FrameEncoder {
  public:
    bool has_space() const override { return frames_.size() < kMaxPieces / kPiecesOfOne; }
    bool is_empty() const override { return frames_.empty(); }

    void add(OutgoingFrame frame) override {
        DEDLOC_CHECK(has_space(), "the encoder's buffer is full");
        frames_.push_back(std::move(frame));
    }

    Pieces next() override {
        std::size_t count = 0;
        std::size_t skip = front_written_;
        const auto add_piece = [&](std::span<const std::byte> bytes) {
            const std::size_t skipped = std::min(skip, bytes.size());
            skip -= skipped;
            if (bytes.size() > skipped) pieces_[count++] = bytes.subspan(skipped);
        };
        for (const OutgoingFrame& frame : frames_) {
            add_piece(std::as_bytes(std::span{&frame.header, 1}));
            for (const auto& piece : frame.body.pieces()) add_piece(piece);
        }
        return std::span{pieces_}.first(count);
    }

    Written written(std::size_t count) override {
        Written written;
        front_written_ += count;
        while (!frames_.empty() && front_written_ >= frames_.front().size()) {
            const OutgoingFrame& front = frames_.front();
            ++written.frames;
            if (front.header.kind == FrameKind::kData) ++written.data_frames;
            written.bytes += front.size();
            front_written_ -= front.size();
            frames_.pop_front();
        }
        return written;
    }

  private:
    std::deque<OutgoingFrame> frames_;
    std::size_t front_written_ = 0;  ///< bytes of frames_.front()
    std::array<std::span<const std::byte>, kMaxPieces> pieces_;
};

class PlainDecoder final : public FrameDecoder {
  public:
    PlainDecoder(std::size_t frame_limit, BufferPool pool)
        : limit_(frame_limit), pool_(std::move(pool)) {}

    /// The rest of the body as far as the buffer reaches, and the header after it.
    Places next() override {
        const auto header = std::as_writable_bytes(std::span{&header_, 1}).subspan(header_got_);
        if (!body_) return {header, {}};
        if (body_got_ == body_->size()) {
            body_->resize(std::min(body_length_, body_->size() + kPieceBytes));
        }
        const auto body = std::span{*body_}.subspan(body_got_);
        if (body_->size() < body_length_) return {body, {}};
        return {body, header};
    }

    bool read(std::size_t count, const Deliver& deliver) override {
        if (body_) {
            const std::size_t part = std::min(count, body_->size() - body_got_);
            body_got_ += part;
            count -= part;
            if (body_got_ == body_length_) deliver(frame_, std::exchange(body_, nullptr));
        }
        header_got_ += count;
        if (header_got_ < sizeof(header_)) return true;
        header_got_ = 0;
        if (!is_valid(header_, limit_)) return false;
        frame_ = header_;
        body_length_ = frame_.length;
        body_got_ = 0;
        if (has_body(frame_.kind)) body_ = pool_.take(body_length_);
        if (body_length_ == 0) deliver(frame_, std::exchange(body_, nullptr));
        return true;
    }

    bool is_in_frame() const override { return body_ && frame_.kind == FrameKind::kData; }

  private:
    const std::size_t limit_;
    BufferPool pool_;
    FrameHeader header_{};  ///< the next header; its first header_got_ bytes have been read
    std::size_t header_got_ = 0;
    FrameHeader frame_{};  ///< header of the frame whose body is being read
    std::shared_ptr<Buffer> body_;
    std::size_t body_got_ = 0;
    std::size_t body_length_ = 0;
};

}  // namespace

FrameCodec make_plain_codec(std::size_t frame_limit, BufferPool pool) {
    return {std::make_unique<PlainEncoder>(),
            std::make_unique<PlainDecoder>(frame_limit, std::move(pool))};
}

}  // namespace dedloc::net
