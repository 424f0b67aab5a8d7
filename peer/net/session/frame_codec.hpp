// Encodes and decodes the frames of one link, plain or sealed with the keys of its handshake.
// Codecs have no socket: a link writes the bytes that the encoder's next() returns and reads into
// the buffers that the decoder's next() returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/frame.hpp"
#include "peer/net/session/buffer_pool.hpp"
#include "peer/net/session/link_frame.hpp"
#include "peer/net/session/stream_cipher.hpp"

namespace dedloc::net {

/// A frame that waits to be encoded.
struct OutgoingFrame {
    FrameHeader header;  ///< header.length is the size of `body`
    Frame body;          ///< empty if !has_body(header.kind)
    /// Size of header and body in bytes.
    std::size_t size() const { return sizeof(FrameHeader) + body.size(); }
};

/// Thread: one at a time.
class FrameEncoder {
  public:
    /// next() returns at most this many pieces.
    static constexpr std::size_t kMaxPieces = 32;
    using Pieces = std::span<const std::span<const std::byte>>;

    virtual ~FrameEncoder() = default;

    /// True if add() may be called. An encoder holds few frames; the link queues the others.
    virtual bool has_space() const = 0;
    /// Appends a frame. Requires has_space() (DEDLOC_CHECK).
    virtual void add(OutgoingFrame frame) = 0;
    /// True if every added frame has been written.
    virtual bool is_empty() const = 0;
    /// The bytes to write next, valid until written(). Not empty unless is_empty().
    virtual Pieces next() = 0;

    /// The frames that a call of written() has completed.
    struct Written {
        std::size_t frames = 0;       ///< all completed frames
        std::size_t data_frames = 0;  ///< those of kind kData
        std::size_t bytes = 0;        ///< their OutgoingFrame::size() together
    };
    /// The first `count` bytes of next() have been written.
    virtual Written written(std::size_t count) = 0;
};

/// Thread: one at a time. The sealed decoder delivers only authenticated frames and allocates
/// memory only for authenticated lengths; the plain one checks the header alone.
class FrameDecoder {
  public:
    using Places = std::array<std::span<std::byte>, 2>;
    /// Receives a whole frame; `body` is null if !has_body(header.kind).
    using Deliver = std::function<void(const FrameHeader& header, SharedBytes body)>;

    virtual ~FrameDecoder() = default;

    /// The buffers for the next bytes, to be filled in order; the second may be empty.
    virtual Places next() = 0;
    /// `count` bytes have been read into next(): delivers the frames that are now complete. False:
    /// the bytes are invalid and the link must end. Read nothing after that, or after a goodbye.
    /// Errors: std::bad_alloc.
    virtual bool read(std::size_t count, const Deliver& deliver) = 0;
    /// A data frame has been read in part.
    virtual bool is_in_frame() const = 0;
};

/// Both directions of a link.
struct FrameCodec {
    std::unique_ptr<FrameEncoder> encoder;  ///< for sent frames
    std::unique_ptr<FrameDecoder> decoder;  ///< for received frames
};

/// Frames without encryption or authentication. Received bodies are allocated from `pool`.
FrameCodec make_plain_codec(std::size_t frame_limit, BufferPool pool = BufferPool{0});

/// Sealed frames: with XChaCha20 first 24 random bytes, then each frame as a sealed header (33
/// bytes) and sealed pieces of at most kPieceBytes (17 bytes more each). A piece that is modified,
/// repeated, dropped or reordered ends the link. Requires two different keys that no other link
/// uses. Cost: see ../README.md.
FrameCodec make_sealed_codec(const LinkKeys& keys, std::size_t frame_limit,
                             BufferPool pool = BufferPool{0});

}  // namespace dedloc::net
