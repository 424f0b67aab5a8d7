// BLAKE2b and Ed25519 by libsodium. Every function that can be the first call of a process runs
// sodium_init() once, thread-safely, by a static local. A KeyPair keeps libsodium's 64-byte secret
// key, whose first 32 bytes are the seed; copies of the seed on the stack are wiped.
#include "peer/base/digest.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

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

/// The start of a key is as random as a hash has to be.
struct StartOfKey {
    std::size_t operator()(const PeerKey& key) const {
        std::size_t start = 0;
        std::memcpy(&start, key.bytes.data(), sizeof start);
        return start;
    }
};

using Secret = std::array<std::byte, 64>;

thread_local std::size_t simulations = 0;
/// The secrets of those that have signed on this thread during a simulation.
thread_local std::unordered_map<PeerKey, Secret, StartOfKey> signers;

/// What a signature is in a simulation.
Signature simulated(const Secret& secret, std::span<const std::byte> bytes) {
    Signature signature;
    crypto_generichash_blake2b(raw(signature.data()), signature.size(), raw(bytes.data()),
                               bytes.size(), raw(secret.data()), secret.size());
    return signature;
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
    if (simulations > 0) {
        return simulated(signers.try_emplace(public_, secret_).first->second, bytes);
    }
    Signature signature;
    crypto_sign_detached(raw(signature.data()), nullptr, raw(bytes.data()), bytes.size(),
                         raw(secret_.data()));
    return signature;
}

bool verify(const PeerKey& key, std::span<const std::byte> bytes, const Signature& signature) {
    need_sodium();
    if (simulations > 0) {
        const auto signer = signers.find(key);
        if (signer != signers.end() && simulated(signer->second, bytes) == signature) return true;
    }
    return crypto_sign_verify_detached(raw(signature.data()), raw(bytes.data()), bytes.size(),
                                       raw(key.bytes.data())) == 0;
}

SimulatedSignatures::SimulatedSignatures() {
    ++simulations;
}

SimulatedSignatures::~SimulatedSignatures() {
    if (--simulations == 0) signers.clear();
}

}  // namespace dedloc
