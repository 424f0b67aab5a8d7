// 32-byte digests and keys, and Ed25519 signatures (libsodium).
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc {

/// 32 opaque bytes. The tag makes digests, keys and run ids different types.
template <class Tag>
struct Bytes32 {
    std::array<std::byte, 32> bytes{};  ///< all zeros: no value
    /// The default compares std::byte one by one: libstdc++ 12 takes only integers together.
    bool operator==(const Bytes32& other) const {
        return std::memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0;
    }
    /// Byte by byte. Cost: most pairs differ in the first bytes, which are compared as one number.
    std::strong_ordering operator<=>(const Bytes32& other) const {
        const std::uint64_t ours = first_bytes();
        const std::uint64_t theirs = other.first_bytes();
        return ours != theirs ? ours <=> theirs : bytes <=> other.bytes;
    }
    /// All 64 lower-case hex digits.
    std::string hex() const { return to_hex(bytes); }
    /// The first 8 hex digits, for logs.
    std::string brief() const { return hex().substr(0, 8); }
    /// Reads 64 hex digits of either case into `out`. False for any other text.
    [[nodiscard]] static bool parse(std::string_view text, Bytes32& out) {
        return from_hex(text, out.bytes);
    }

  private:
    /// The first 8 bytes as a big-endian number.
    std::uint64_t first_bytes() const {
        std::uint64_t number;
        std::memcpy(&number, bytes.data(), sizeof number);
        return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
    }
};

// Three different types with the same contents.
using Digest = Bytes32<struct DigestTag>;  ///< BLAKE2b-256 of some bytes
using PeerKey =
    Bytes32<struct PeerKeyTag>;          ///< Ed25519 public key of a peer, a backbone or a project
using RunId = Bytes32<struct RunIdTag>;  ///< digest of the canonical run file

/// Unkeyed BLAKE2b-256. Thread: any.
Digest blake2b(std::span<const std::byte> bytes);

/// A detached Ed25519 signature.
using Signature = std::array<std::byte, 64>;

/// An Ed25519 key pair. The destructor wipes the secret.
class KeyPair {
  public:
    /// A new random key pair.
    static KeyPair generate();
    /// The key pair whose seed() returned these 32 secret bytes.
    static KeyPair from_seed(std::span<const std::byte, 32> seed);
    KeyPair(const KeyPair&) = default;
    KeyPair& operator=(const KeyPair&) = default;
    ~KeyPair();

    /// What others know this key pair by.
    const PeerKey& public_key() const { return public_; }
    /// The secret that the key pair can be restored from. The caller wipes it.
    std::array<std::byte, 32> seed() const;
    /// Signs these bytes; equal bytes give equal signatures. Thread: any.
    Signature sign(std::span<const std::byte> bytes) const;

  private:
    KeyPair() = default;
    PeerKey public_;
    std::array<std::byte, 64> secret_{};
};

/// True if the owner of `key` has signed exactly these bytes. All arguments may be untrusted.
/// Thread: any.
[[nodiscard]] bool verify(const PeerKey& key, std::span<const std::byte> bytes,
                          const Signature& signature);

/// Speeds up simulations, of which signing and verifying take the most time. While an object of
/// this class exists, what this thread signs is a hash keyed with the secret. Only this thread can
/// verify it, and only so long. Signatures from elsewhere are verified as always, and none can be
/// forged.
/// Memory  100 bytes for each key that has signed
class SimulatedSignatures final {
  public:
    SimulatedSignatures();
    /// The last one of the thread forgets all keys. Requires the constructor's thread.
    ~SimulatedSignatures();
    SimulatedSignatures(const SimulatedSignatures&) = delete;
    SimulatedSignatures& operator=(const SimulatedSignatures&) = delete;
};

}  // namespace dedloc
