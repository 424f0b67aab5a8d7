// Seals the pieces of one direction of a link, in order: a piece that is modified, repeated,
// dropped or moved does not open. Each piece has a tag, which is authenticated with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace dedloc::net {

/// The ciphers of a link. Both have keys of 32 bytes.
enum class Cipher : std::uint8_t {
    kXChaCha20,  ///< libsodium's secretstream, fast on every processor
    kAes256Gcm,  ///< where both processors have instructions for it; by OpenSSL
};

/// The keys of a link's frames.
struct LinkKeys {
    Cipher cipher = Cipher::kXChaCha20;      ///< the same at both ends
    std::span<const std::byte, 32> send;     ///< seals the frames that this end sends
    std::span<const std::byte, 32> receive;  ///< opens those that it receives
};

/// Whether this processor has the instructions that AES-256-GCM needs to be fast and to take a time
/// that does not depend on its key.
bool processor_has_aes();

/// What a piece is to the stream.
enum class PieceTag : std::uint8_t {
    kMessage = 0,  ///< others may follow
    kFinal = 3,    ///< no piece follows
};

/// Bytes that a sealed piece has more than a plain one, with each cipher.
inline constexpr std::size_t kSealBytes = 17;

/// Bytes before the first sealed piece.
std::size_t start_bytes(Cipher cipher);

/// Seals pieces.
class StreamSealer {
  public:
    virtual ~StreamSealer() = default;
    /// A piece of a message, as it lies in memory: its bytes are those of all parts in order.
    using Parts = std::span<const std::span<const std::byte>>;

    /// Shapes: plain n bytes together, sealed [n + kSealBytes]; they do not overlap. With AES the
    /// parts are sealed from where they are, with XChaCha20 more than one is copied first.
    virtual void seal(Parts plain, PieceTag tag, std::span<std::byte> sealed) = 0;
};

/// Opens what a StreamSealer with the same key has sealed.
class StreamOpener {
  public:
    virtual ~StreamOpener() = default;
    /// Takes the bytes before the first piece. Call it once, first.
    virtual void begin(std::span<const std::byte> start) = 0;
    /// The tag of the next piece; nothing, and `plain` is worthless, if this is not that piece.
    /// Shapes: sealed [n + kSealBytes], plain [n]; they do not overlap.
    virtual std::optional<PieceTag> open(std::span<const std::byte> sealed,
                                         std::span<std::byte> plain) = 0;
};

/// The sending end of one direction of a link; fills `start`, the start_bytes() before the first
/// piece. Requires a key that nothing else uses.
std::unique_ptr<StreamSealer> make_sealer(Cipher cipher, std::span<const std::byte, 32> key,
                                          std::span<std::byte> start);
/// The receiving end.
std::unique_ptr<StreamOpener> make_opener(Cipher cipher, std::span<const std::byte, 32> key);

}  // namespace dedloc::net
