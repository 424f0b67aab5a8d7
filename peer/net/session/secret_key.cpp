// Thin wrappers of libsodium.
#include "peer/net/session/secret_key.hpp"

#include <sodium.h>

namespace dedloc::net {
namespace {

static_assert(crypto_kdf_KEYBYTES == 32);

unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

SecretKey::~SecretKey() {
    sodium_memzero(bytes.data(), bytes.size());
}

SecretKey derive_key(const SecretKey& root, std::uint64_t number, const char* context) {
    SecretKey key;
    crypto_kdf_derive_from_key(raw(key.bytes.data()), key.bytes.size(), number, context,
                               raw(root.bytes.data()));
    return key;
}

SecretKey keyed_hash(const SecretKey& key, std::span<const std::byte> text) {
    SecretKey hash;
    crypto_generichash_blake2b(raw(hash.bytes.data()), hash.bytes.size(), raw(text.data()),
                               text.size(), raw(key.bytes.data()), key.bytes.size());
    return hash;
}

}  // namespace dedloc::net
