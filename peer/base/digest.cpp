// BLAKE2b and Ed25519 by libsodium. Every function that can be the first call of a process runs
// sodium_init() once, thread-safely, by a static local. A KeyPair keeps libsodium's 64-byte secret
// key, whose first 32 bytes are the seed; copies of the seed on the stack are wiped.
#include "peer/base/digest.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "peer/base/check.hpp"

namespace dedloc {
namespace {

unsigned char* raw(std::byte* p) {
    return reinterpret_cast<unsigned char*>(p);
}
const unsigned char* raw(const std::byte* p) {
    return reinterpret_cast<const unsigned char*>(p);
}

/// Initializes libsodium, which also chooses its fastest implementation for this processor.
void need_sodium() {
    static const bool ready = sodium_init() >= 0;
    DEDLOC_CHECK(ready, "libsodium has a source of randomness");
}

/// The start of a digest is as random as a hash has to be.
struct StartOfDigest {
    std::size_t operator()(const Digest& digest) const {
        std::size_t start = 0;
        std::memcpy(&start, digest.bytes.data(), sizeof start);
        return start;
    }
};

constexpr std::size_t kMaxRemembered = std::size_t{1} << 18;
thread_local std::size_t caches = 0;
thread_local std::unordered_set<Digest, StartOfDigest> valid_signatures;

Digest digest_of_signature(const PeerKey& key, std::span<const std::byte> bytes,
                           const Signature& signature) {
    Digest digest;
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, nullptr, 0, digest.bytes.size());
    crypto_generichash_blake2b_update(&state, raw(key.bytes.data()), key.bytes.size());
    crypto_generichash_blake2b_update(&state, raw(signature.data()), signature.size());
    crypto_generichash_blake2b_update(&state, raw(bytes.data()), bytes.size());
    crypto_generichash_blake2b_final(&state, raw(digest.bytes.data()), digest.bytes.size());
    return digest;
}

void remember(const Digest& signature) {
    if (valid_signatures.size() >= kMaxRemembered) valid_signatures.clear();
    valid_signatures.insert(signature);
}

}  // namespace

Digest blake2b(std::span<const std::byte> bytes) {
    need_sodium();
    Digest digest;
    crypto_generichash_blake2b(raw(digest.bytes.data()), digest.bytes.size(), raw(bytes.data()),
                               bytes.size(), nullptr, 0);
    return digest;
}

KeyPair KeyPair::generate() {
    std::array<std::byte, 32> seed;
    need_sodium();
    randombytes_buf(seed.data(), seed.size());
    KeyPair pair = from_seed(seed);
    sodium_memzero(seed.data(), seed.size());
    return pair;
}

KeyPair KeyPair::from_seed(std::span<const std::byte, 32> seed) {
    need_sodium();
    KeyPair pair;
    crypto_sign_seed_keypair(raw(pair.public_.bytes.data()), raw(pair.secret_.data()),
                             raw(seed.data()));
    return pair;
}

KeyPair::~KeyPair() {
    sodium_memzero(secret_.data(), secret_.size());
}

std::array<std::byte, 32> KeyPair::seed() const {
    std::array<std::byte, 32> seed;
    std::copy_n(secret_.begin(), seed.size(), seed.begin());
    return seed;
}

Signature KeyPair::sign(std::span<const std::byte> bytes) const {
    Signature signature;
    crypto_sign_detached(raw(signature.data()), nullptr, raw(bytes.data()), bytes.size(),
                         raw(secret_.data()));
    if (caches > 0) remember(digest_of_signature(public_, bytes, signature));
    return signature;
}

bool verify(const PeerKey& key, std::span<const std::byte> bytes, const Signature& signature) {
    need_sodium();
    const auto is_valid = [&] {
        return crypto_sign_verify_detached(raw(signature.data()), raw(bytes.data()), bytes.size(),
                                           raw(key.bytes.data())) == 0;
    };
    if (caches == 0) return is_valid();
    const Digest digest = digest_of_signature(key, bytes, signature);
    if (valid_signatures.contains(digest)) return true;
    if (!is_valid()) return false;
    remember(digest);
    return true;
}

SignatureCache::SignatureCache() {
    ++caches;
}

SignatureCache::~SignatureCache() {
    if (--caches == 0) valid_signatures.clear();
}

}  // namespace dedloc
