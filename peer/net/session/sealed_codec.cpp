// The encoder seals frames into one buffer of at most one write, just before they are written, so
// that queued bodies stay shared by all links. The first write begins with the bytes that the
// cipher needs, if any. The decoder reads a whole sealed piece before it opens it, and the sealed
// header of the next frame together with a frame's last piece. Piece boundaries follow from the
// frame's length alone, so encoder and decoder must cut in the same way. A goodbye carries the
// stream's final tag.
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/net/session/frame_codec.hpp"

namespace dedloc::net {
namespace {

constexpr std::size_t kSealedHeader = sizeof(FrameHeader) + kSealBytes;
constexpr std::size_t kSealedPiece = kPieceBytes + kSealBytes;
/// Bytes of one write: the last piece of a frame and small frames behind it, or small frames only.
constexpr std::size_t kWriteBytes = kSealedHeader + kSealedPiece;
/// Most frames in the encoder; a frame's body is held until it has been sealed.
constexpr std::size_t kMaxFrames = 64;
/// An idle codec frees buffers larger than this, so that a thousand idle links need little memory.
constexpr std::size_t kKeptBytes = std::size_t{16} << 10;

PieceTag tag_of(FrameKind kind) {
    return kind == FrameKind::kGoodbye ? PieceTag::kFinal : PieceTag::kMessage;
}

/// Seals only as much as one write holds: the bodies of waiting frames stay shared by all links.
class SealedEncoder final : public FrameEncoder {
  public:
    SealedEncoder(Cipher cipher, std::span<const std::byte, 32> key)
        : start_(start_bytes(cipher)),
          buffer_(start_),
          sealer_(make_sealer(cipher, key, buffer_)) {}

    bool has_space() const override { return frames_.size() < kMaxFrames; }
    /// True although the cipher's first bytes may be unsent: they are written with the first frame.
    bool is_empty() const override { return frames_.empty(); }

    void add(OutgoingFrame frame) override {
        DEDLOC_CHECK(has_space(), "the encoder's buffer is full");
        frames_.emplace_back(std::move(frame));
    }

    Pieces next() override {
        while (sealed_ < frames_.size() && has_space_for_next()) seal_next();
        piece_ = std::span{buffer_}.subspan(written_);
        return {&piece_, piece_.empty() ? 0U : 1U};
    }

    Written written(std::size_t count) override {
        Written written;
        written_ += count;
        for (; !ends_.empty() && ends_.front() <= written_; ends_.pop_front()) {
            ++written.frames;
            if (frames_.front().is_data) ++written.data_frames;
            written.bytes += frames_.front().size;
            frames_.pop_front();
            --sealed_;
        }
        if (written_ < buffer_.size()) return written;
        written_ = 0;
        buffer_.clear();
        if (is_empty() && buffer_.capacity() > kKeptBytes) buffer_ = {};
        return written;
    }

  private:
    struct Waiting {
        explicit Waiting(OutgoingFrame frame)
            : size(frame.size()),
              is_data(frame.header.kind == FrameKind::kData),
              header(frame.header),
              body(std::move(frame.body)) {}
        std::size_t size;
        bool is_data;
        FrameHeader header;
        Frame body;
    };

    /// False while a write is incomplete: the buffer must not move then.
    bool has_space_for_next() const {
        if (written_ > 0) return false;
        if (!is_in_body_) return buffer_.size() + kSealedHeader <= kWriteBytes;
        return buffer_.size() + next_piece().size() + kSealBytes <= start_ + kWriteBytes;
    }
    std::span<const std::byte> next_piece() const {
        const auto rest = std::span{*body_}.subspan(body_sealed_);
        return rest.first(std::min(rest.size(), kPieceBytes));
    }

    void seal_next() {
        Waiting& frame = frames_[sealed_];
        if (!is_in_body_) {
            seal(std::as_bytes(std::span{&frame.header, 1}), tag_of(frame.header.kind));
            // The body must be contiguous, since pieces are cut by length alone.
            body_ = std::exchange(frame.body, {}).whole();
            is_in_body_ = body_ && !body_->empty();
            body_sealed_ = 0;
        } else {
            const auto piece = next_piece();
            seal(piece, PieceTag::kMessage);
            body_sealed_ += piece.size();
            is_in_body_ = body_sealed_ < body_->size();
        }
        if (is_in_body_) return;
        body_ = nullptr;
        ends_.push_back(buffer_.size());
        ++sealed_;
    }

    void seal(std::span<const std::byte> plain, PieceTag tag) {
        const std::size_t at = buffer_.size();
        buffer_.resize(at + plain.size() + kSealBytes);
        sealer_->seal(plain, tag, std::span{buffer_}.subspan(at));
    }

    const std::size_t start_;
    Buffer buffer_;
    const std::unique_ptr<StreamSealer> sealer_;
    std::deque<Waiting> frames_;
    std::size_t sealed_ = 0;        ///< frames at the front that are in the buffer completely
    bool is_in_body_ = false;       ///< the header of the next frame is sealed, its body is not
    SharedBytes body_;              ///< the body that is being sealed
    std::size_t body_sealed_ = 0;   ///< bytes of body_ that are sealed
    std::deque<std::size_t> ends_;  ///< where each sealed frame ends in the buffer
    std::size_t written_ = 0;
    std::span<const std::byte> piece_;
};

class SealedDecoder final : public FrameDecoder {
  public:
    SealedDecoder(Cipher cipher, std::span<const std::byte, 32> key, std::size_t frame_limit,
                  BufferPool pool)
        : limit_(frame_limit),
          pool_(std::move(pool)),
          opener_(make_opener(cipher, key)),
          has_started_(start_bytes(cipher) == 0),
          piece_(start_bytes(cipher)) {
        if (has_started_) opener_->begin({});
    }

    /// The rest of the piece and, after the last piece of a frame, the next header.
    Places next() override {
        const auto piece = std::span{piece_}.subspan(piece_got_);
        const auto header = std::span{header_}.subspan(header_got_);
        if (piece.empty()) return {header, {}};
        if (is_last_piece()) return {piece, header};
        return {piece, {}};
    }

    bool read(std::size_t count, const Deliver& deliver) override {
        const std::size_t part = std::min(count, piece_.size() - piece_got_);
        piece_got_ += part;
        header_got_ += count - part;
        if (part > 0 && piece_got_ == piece_.size() && !end_piece(deliver)) return false;
        if (header_got_ < header_.size()) return true;
        header_got_ = 0;
        return begin_frame(deliver);
    }

    bool is_in_frame() const override { return body_ && frame_.kind == FrameKind::kData; }

  private:
    bool is_last_piece() const { return !body_ || body_length_ - body_got_ <= kPieceBytes; }

    /// Processes a complete piece: the cipher's first bytes, or a piece of a body.
    bool end_piece(const Deliver& deliver) {
        if (!has_started_) {
            has_started_ = true;
            opener_->begin(piece_);
            await_piece(0);
            return true;
        }
        const std::size_t length = piece_.size() - kSealBytes;
        if (body_->size() < body_got_ + length) body_->resize(body_got_ + length);
        const auto plain = std::span{*body_}.subspan(body_got_, length);
        if (opener_->open(piece_, plain) != PieceTag::kMessage) return false;
        body_got_ += length;
        await_piece(body_length_ - body_got_);
        if (piece_.empty()) deliver(frame_, std::exchange(body_, nullptr));
        return true;
    }

    /// Prepares for the next piece of a body with `rest` bytes to come; 0: no piece follows.
    void await_piece(std::size_t rest) {
        piece_got_ = 0;
        piece_.resize(rest == 0 ? 0 : std::min(rest, kPieceBytes) + kSealBytes);
        if (rest == 0 && piece_.capacity() > kKeptBytes) piece_ = {};
    }

    bool begin_frame(const Deliver& deliver) {
        const auto plain = std::as_writable_bytes(std::span{&frame_, 1});
        const auto tag = opener_->open(header_, plain);
        if (!tag || !is_valid(frame_, limit_) || tag != tag_of(frame_.kind)) return false;
        body_length_ = frame_.length;
        await_piece(body_length_);
        body_got_ = 0;
        if (has_body(frame_.kind)) body_ = pool_.take(body_length_);
        if (body_length_ == 0) deliver(frame_, std::exchange(body_, nullptr));
        return true;
    }

    const std::size_t limit_;
    BufferPool pool_;
    const std::unique_ptr<StreamOpener> opener_;
    bool has_started_;
    FrameHeader frame_{};  ///< the last header, authenticated
    std::array<std::byte, kSealedHeader> header_{};
    std::size_t header_got_ = 0;
    Buffer piece_;  ///< the sealed piece, as far as it has been read
    std::size_t piece_got_ = 0;
    std::shared_ptr<Buffer> body_;
    std::size_t body_got_ = 0;  ///< bytes of body_ that have been authenticated
    std::size_t body_length_ = 0;
};

}  // namespace

FrameCodec make_sealed_codec(const LinkKeys& keys, std::size_t frame_limit, BufferPool pool) {
    DEDLOC_CHECK(sodium_init() >= 0, "libsodium could not find a source of randomness");
    return {
        std::make_unique<SealedEncoder>(keys.cipher, keys.send),
        std::make_unique<SealedDecoder>(keys.cipher, keys.receive, frame_limit, std::move(pool))};
}

}  // namespace dedloc::net
