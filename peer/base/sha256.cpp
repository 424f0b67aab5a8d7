// libsodium's streaming state, which its own header defines, lies behind a pointer.
#include "peer/base/sha256.hpp"

#include <sodium.h>

#include <array>

#include "peer/base/bytes.hpp"

namespace dedloc {

struct Sha256::State {
    crypto_hash_sha256_state sum{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    crypto_hash_sha256_init(&state_->sum);
}
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
    crypto_hash_sha256_update(&state_->sum, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
}

std::string Sha256::hex() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_->sum, digest.data());
    return to_hex(std::as_bytes(std::span{digest}));
}

}  // namespace dedloc
