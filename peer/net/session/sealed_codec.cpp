// The encoder seals frames into one buffer of at most one write, just before they are written, from
// where their bytes are: queued bodies stay shared by all links and are never copied. Buffers of
// encoder and decoder come from the pool and go back when the link is idle, so that a busy link
// neither allocates nor clears them. The first write begins with the bytes that the
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
/// Small frames are sealed into a buffer of this size, which the pool allocates and frees.
constexpr std::size_t kSmallBytes = std::size_t{8} << 10;

PieceTag tag_of(FrameKind kind) {
    return kind == FrameKind::kGoodbye ? PieceTag::kFinal : PieceTag::kMessage;
}

/// Seals only as much as one write holds: the bodies of waiting frames stay shared by all links.
class SealedEncoder final : public FrameEncoder {
  public:
    SealedEncoder(Cipher cipher, std::span<const std::byte, 32> key, BufferPool pool)
        : pool_(std::move(pool)),
          start_(start_bytes(cipher)),
          first_(start_),
          sealer_(make_sealer(cipher, key, first_)) {}

    bool has_space() const override { return frames_.size() < kMaxFrames; }
    /// True although the cipher's first bytes may be unsent: they are written with the first frame.
    bool is_empty() const override { return frames_.empty(); }

    void add(OutgoingFrame frame) override {
        DEDLOC_CHECK(has_space(), "the encoder's buffer is full");
        frames_.emplace_back(std::move(frame));
    }

    Pieces next() override {
        if (sealed_ < frames_.size() && !buffer_) begin_write();
        while (sealed_ < frames_.size() && has_space_for_next()) seal_next();
        piece_ = buffer_
                     ? std::span<const std::byte>{*buffer_}.subspan(written_, filled_ - written_)
                     : std::span<const std::byte>{};
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
        if (written_ < filled_) return written;
        written_ = filled_ = 0;
        if (is_empty()) buffer_ = nullptr;
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
        if (!is_in_body_) return filled_ + kSealedHeader <= kWriteBytes;
        return filled_ + next_length() + kSealBytes <= start_ + kWriteBytes;
    }
    std::size_t next_length() const { return std::min(body_.size() - body_sealed_, kPieceBytes); }
    /// The next piece of the body: a part of each of its pieces in memory.
    Frame::Pieces next_piece() const {
        Frame::Pieces parts = body_.pieces();
        std::size_t skipped = body_sealed_;
        std::size_t length = next_length();
        for (auto& part : parts) {
            const std::size_t before = std::min(skipped, part.size());
            part = part.subspan(before);
            part = part.first(std::min(length, part.size()));
            skipped -= before;
            length -= part.size();
        }
        return parts;
    }

    void seal_next() {
        Waiting& frame = frames_[sealed_];
        if (!is_in_body_) {
            const std::array header{std::as_bytes(std::span{&frame.header, 1})};
            seal(header, header.front().size(), tag_of(frame.header.kind));
            body_ = std::exchange(frame.body, {});
            is_in_body_ = body_.size() > 0;
            body_sealed_ = 0;
        } else {
            const std::size_t length = next_length();
            seal(next_piece(), length, PieceTag::kMessage);
            body_sealed_ += length;
            is_in_body_ = body_sealed_ < body_.size();
        }
        if (is_in_body_) return;
        body_ = {};
        ends_.push_back(filled_);
        ++sealed_;
    }

    /// A large buffer if the waiting frames fill one, else one for them.
    void begin_write() {
        std::size_t length = first_.size();
        for (std::size_t k = sealed_; k < frames_.size() && length < kWriteBytes; ++k) {
            length += frames_[k].size + 2 * kSealBytes;
        }
        if (is_in_body_) length = kWriteBytes;
        buffer_ = pool_.take(length <= kSmallBytes ? kSmallBytes : start_ + kWriteBytes);
        filled_ = first_.size();
        grow_to(filled_);
        std::ranges::copy(first_, buffer_->begin());
        first_.clear();
    }
    void grow_to(std::size_t length) {
        if (buffer_->size() < length) buffer_->resize(length);
    }
    void seal(StreamSealer::Parts plain, std::size_t length, PieceTag tag) {
        const std::size_t at = filled_;
        filled_ += length + kSealBytes;
        grow_to(filled_);
        sealer_->seal(plain, tag, std::span{*buffer_}.subspan(at, filled_ - at));
    }

    BufferPool pool_;
    const std::size_t start_;
    std::shared_ptr<Buffer> buffer_;  ///< null: nothing is sealed and unwritten
    std::size_t filled_ = 0;          ///< sealed bytes in buffer_
    Buffer first_;                    ///< the cipher's first bytes, until the first write
    const std::unique_ptr<StreamSealer> sealer_;
    std::deque<Waiting> frames_;
    std::size_t sealed_ = 0;        ///< frames at the front that are in the buffer completely
    bool is_in_body_ = false;       ///< the header of the next frame is sealed, its body is not
    Frame body_;                    ///< the body that is being sealed
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
          has_started_(start_bytes(cipher) == 0) {
        await(start_bytes(cipher));
        if (has_started_) opener_->begin({});
    }

    /// The rest of the piece and, after the last piece of a frame, the next header.
    Places next() override {
        const auto piece = sealed_piece().subspan(piece_got_);
        const auto header = std::span{header_}.subspan(header_got_);
        if (piece.empty()) return {header, {}};
        if (is_last_piece()) return {piece, header};
        return {piece, {}};
    }

    bool read(std::size_t count, const Deliver& deliver) override {
        const std::size_t part = std::min(count, piece_length_ - piece_got_);
        piece_got_ += part;
        header_got_ += count - part;
        if (part > 0 && piece_got_ == piece_length_ && !end_piece(deliver)) return false;
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
            opener_->begin(sealed_piece());
            await_piece(0);
            return true;
        }
        const std::size_t length = piece_length_ - kSealBytes;
        if (body_->size() < body_got_ + length) body_->resize(body_got_ + length);
        const auto plain = std::span{*body_}.subspan(body_got_, length);
        if (opener_->open(sealed_piece(), plain) != PieceTag::kMessage) return false;
        body_got_ += length;
        await_piece(body_length_ - body_got_);
        if (piece_length_ == 0) deliver(frame_, std::exchange(body_, nullptr));
        return true;
    }

    /// Prepares for the next piece of a body with `rest` bytes to come; 0: no piece follows.
    void await_piece(std::size_t rest) {
        await(rest == 0 ? 0 : std::min(rest, kPieceBytes) + kSealBytes);
    }
    void await(std::size_t length) {
        piece_got_ = 0;
        piece_length_ = length;
        if (length == 0) {
            piece_ = nullptr;
            return;
        }
        if (!piece_ || piece_->capacity() < length) piece_ = pool_.take(length);
        if (piece_->size() < length) piece_->resize(length);
    }
    std::span<std::byte> sealed_piece() {
        return piece_ ? std::span{*piece_}.first(piece_length_) : std::span<std::byte>{};
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
    std::shared_ptr<Buffer> piece_;  ///< the sealed piece, as far as it has been read
    std::size_t piece_length_ = 0;   ///< its bytes; 0: no piece is awaited
    std::size_t piece_got_ = 0;
    std::shared_ptr<Buffer> body_;
    std::size_t body_got_ = 0;  ///< bytes of body_ that have been authenticated
    std::size_t body_length_ = 0;
};

}  // namespace

FrameCodec make_sealed_codec(const LinkKeys& keys, std::size_t frame_limit, BufferPool pool) {
    DEDLOC_CHECK(sodium_init() >= 0, "libsodium could not find a source of randomness");
    return {
        std::make_unique<SealedEncoder>(keys.cipher, keys.send, pool),
        std::make_unique<SealedDecoder>(keys.cipher, keys.receive, frame_limit, std::move(pool))};
}

}  // namespace dedloc::net
