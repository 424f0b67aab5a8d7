// 32-byte identities and Ed25519 signatures (libsodium).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc {

/// 32 opaque bytes, told apart by what they name.
template <class Tag>
struct Bytes32 {
    std::array<std::byte, 32> bytes{};
    auto operator<=>(const Bytes32&) const = default;
    std::string hex() const { return to_hex(bytes); }
    /// The first 8 hex digits, for people.
    std::string brief() const { return hex().substr(0, 8); }
    [[nodiscard]] static bool parse(std::string_view text, Bytes32& out) {
        return from_hex(text, out.bytes);
    }
};

using Digest = Bytes32<struct DigestTag>;  ///< BLAKE2b-256 of something
using PeerKey =
    Bytes32<struct PeerKeyTag>;          ///< Ed25519 public key of a peer, a backbone or a project
using RunId = Bytes32<struct RunIdTag>;  ///< digest of the canonical run file

/// BLAKE2b-256, without a key. Thread: any.
Digest blake2b(std::span<const std::byte> bytes);

using Signature = std::array<std::byte, 64>;

/// An Ed25519 key pair. Kept in memory that is wiped at the end.
class KeyPair {
  public:
    /// A new one, from the system's randomness.
    static KeyPair generate();
    /// From the 32 secret bytes that `seed()` returned earlier.
    static KeyPair from_seed(std::span<const std::byte, 32> seed);
    KeyPair(const KeyPair&) = default;
    KeyPair& operator=(const KeyPair&) = default;
    ~KeyPair();

    const PeerKey& public_key() const { return public_; }
    /// The secret: who has it has the key pair. The caller wipes it.
    std::array<std::byte, 32> seed() const;
    Signature sign(std::span<const std::byte> bytes) const;

  private:
    KeyPair() = default;
    PeerKey public_;
    std::array<std::byte, 64> secret_{};
};

/// True only for what the owner of `key` signed, over exactly these bytes; any input may be given.
/// Thread: any.
[[nodiscard]] bool verify(const PeerKey& key, std::span<const std::byte> bytes,
                          const Signature& signature);

}  // namespace dedloc
