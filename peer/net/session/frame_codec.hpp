// Frames to bytes and back, for one link: plain, or sealed with the keys of its handshake. No
// socket: a link writes what next() gives and reads into the places that next() names.
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

namespace dedloc::net {

struct OutgoingFrame {
    FrameHeader header;
    Frame body;  ///< none where !has_body(header.kind)
    std::size_t size() const { return sizeof(FrameHeader) + body.size(); }
};

/// One writer at a time.
class FrameEncoder {
  public:
    /// Most pieces that next() gives.
    static constexpr std::size_t kMaxPieces = 32;
    using Pieces = std::span<const std::span<const std::byte>>;

    virtual ~FrameEncoder() = default;

    /// Another frame may be added. Frames that are added are bounded: memory is held by whoever
    /// queues the others.
    virtual bool has_space() const = 0;
    /// Requires has_space() (DEDLOC_CHECK).
    virtual void add(OutgoingFrame frame) = 0;
    /// Nothing is left to be written.
    virtual bool is_empty() const = 0;
    /// What is to be written next, valid until written(). Not empty unless is_empty().
    virtual Pieces next() = 0;

    struct Written {
        std::size_t frames = 0;
        std::size_t data_frames = 0;
        std::size_t bytes = 0;  ///< sizes of these frames
    };
    /// So many bytes of next() have been written: which frames are done with that.
    virtual Written written(std::size_t count) = 0;
};

/// One reader at a time. Nothing is delivered, and no memory taken for it, that has not been
/// checked as far as the codec checks.
class FrameDecoder {
  public:
    using Places = std::array<std::span<std::byte>, 2>;
    /// A whole frame; its body is null where !has_body(header.kind).
    using Deliver = std::function<void(const FrameHeader& header, SharedBytes body)>;

    virtual ~FrameDecoder() = default;

    /// Where the next bytes go, the first place first; the second may be empty.
    virtual Places next() = 0;
    /// So many bytes have been read to next(): delivers the frames that are complete with them, a
    /// goodbye as the last. False: they are not what an encoder writes, and the link must end.
    /// Nothing is read after either. Errors: std::bad_alloc.
    virtual bool read(std::size_t count, const Deliver& deliver) = 0;
    /// Part of a frame of the protocol has been read.
    virtual bool is_in_frame() const = 0;
};

struct FrameCodec {
    std::unique_ptr<FrameEncoder> encoder;
    std::unique_ptr<FrameDecoder> decoder;
};

/// Anybody on the way can read and change what goes over the link. Bodies that are read come from
/// `pool`.
FrameCodec make_plain_codec(std::size_t frame_limit, BufferPool pool = BufferPool{0});

/// libsodium's secretstream (XChaCha20-Poly1305): 24 random bytes, then each frame as a sealed
/// header (33 bytes) and sealed pieces of at most kPieceBytes (17 bytes more each). Whatever is
/// changed, repeated, left out or put in another order ends the link. Requires two different keys,
/// used for no other link. Cost: see README.md.
FrameCodec make_sealed_codec(std::span<const std::byte, 32> send_key,
                             std::span<const std::byte, 32> receive_key, std::size_t frame_limit,
                             BufferPool pool = BufferPool{0});

}  // namespace dedloc::net
