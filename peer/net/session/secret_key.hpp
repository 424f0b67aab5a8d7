// Secret keys of a link and how others are derived from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dedloc::net {

/// A key whose memory is wiped by the destructor.
struct SecretKey {
    SecretKey() = default;
    SecretKey(const SecretKey&) = default;
    SecretKey& operator=(const SecretKey&) = default;
    ~SecretKey();
    std::array<std::byte, 32> bytes{};  ///< all zero until derived
};

/// Derives the key `number` of this context from `root` by libsodium's KDF. Requires a context of
/// eight characters.
SecretKey derive_key(const SecretKey& root, std::uint64_t number, const char* context);

/// Keyed BLAKE2b: two ends get the same hash only if they share the key and the text.
SecretKey keyed_hash(const SecretKey& key, std::span<const std::byte> text);

}  // namespace dedloc::net
