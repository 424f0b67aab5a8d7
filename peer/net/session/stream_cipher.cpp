// AES-256-GCM (NIST SP 800-38D) with the number of the piece as nonce: a key serves one direction
// of one link, so no nonce comes twice. The tag stands before the sealed bytes, as associated data.
#include "peer/net/session/stream_cipher.hpp"

#include <openssl/evp.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "peer/base/check.hpp"

namespace dedloc::net {
namespace {

constexpr std::size_t kMacBytes = 16;
static_assert(kSealBytes == crypto_secretstream_xchacha20poly1305_ABYTES);
static_assert(kSealBytes == 1 + kMacBytes);
static_assert(static_cast<int>(PieceTag::kMessage) ==
              crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
static_assert(static_cast<int>(PieceTag::kFinal) ==
              crypto_secretstream_xchacha20poly1305_TAG_FINAL);

template <class Byte>
auto* cipher_bytes(Byte* bytes) {
    using Raw = std::conditional_t<std::is_const_v<Byte>, const unsigned char, unsigned char>;
    return reinterpret_cast<Raw*>(bytes);
}

// --- XChaCha20 ---------------------------------------------------------------

/// The state of a secretstream, wiped at the end.
struct Stream {
    Stream() = default;
    ~Stream() { sodium_memzero(&state, sizeof state); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    crypto_secretstream_xchacha20poly1305_state state{};
};

/// A key, wiped when it is not needed any more.
struct Key {
    explicit Key(std::span<const std::byte, 32> key) { std::ranges::copy(key, bytes.begin()); }
    ~Key() { sodium_memzero(bytes.data(), bytes.size()); }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;
    std::array<std::byte, 32> bytes{};
};

class XChaChaSealer final : public StreamSealer {
  public:
    XChaChaSealer(std::span<const std::byte, 32> key, std::span<std::byte> start) {
        crypto_secretstream_xchacha20poly1305_init_push(&stream_.state, cipher_bytes(start.data()),
                                                        cipher_bytes(key.data()));
    }
    void seal(Parts parts, PieceTag tag, std::span<std::byte> sealed) override {
        const auto plain = contiguous(parts);
        crypto_secretstream_xchacha20poly1305_push(
            &stream_.state, cipher_bytes(sealed.data()), nullptr, cipher_bytes(plain.data()),
            plain.size(), nullptr, 0, static_cast<unsigned char>(tag));
    }

  private:
    /// libsodium has no call for more than one part.
    std::span<const std::byte> contiguous(Parts parts) {
        const auto is_empty = [](std::span<const std::byte> part) { return part.empty(); };
        const auto first = std::ranges::find_if_not(parts, is_empty);
        if (first == parts.end()) return {};
        if (std::all_of(first + 1, parts.end(), is_empty)) return *first;
        joined_.clear();
        for (const auto part : parts) joined_.insert(joined_.end(), part.begin(), part.end());
        return joined_;
    }

    Stream stream_;
    std::vector<std::byte> joined_;  ///< the last piece of several parts
};

class XChaChaOpener final : public StreamOpener {
  public:
    explicit XChaChaOpener(std::span<const std::byte, 32> key) : key_(key) {}
    void begin(std::span<const std::byte> start) override {
        crypto_secretstream_xchacha20poly1305_init_pull(&stream_.state, cipher_bytes(start.data()),
                                                        cipher_bytes(key_.bytes.data()));
        sodium_memzero(key_.bytes.data(), key_.bytes.size());
    }
    std::optional<PieceTag> open(std::span<const std::byte> sealed,
                                 std::span<std::byte> plain) override {
        unsigned char tag = 0;
        const int status = crypto_secretstream_xchacha20poly1305_pull(
            &stream_.state, cipher_bytes(plain.data()), nullptr, &tag, cipher_bytes(sealed.data()),
            sealed.size(), nullptr, 0);
        if (status != 0) return std::nullopt;
        return static_cast<PieceTag>(tag);
    }

  private:
    Key key_;
    Stream stream_;
};

// --- AES-256-GCM -------------------------------------------------------------

/// OpenSSL's context of one direction, and the number of the next piece. It wipes its key itself.
class Aes {
  public:
    Aes(std::span<const std::byte, 32> key, bool seals)
        : context_(EVP_CIPHER_CTX_new()), seals_(seals) {
        require(context_ != nullptr);
        require(EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr,
                                  cipher_bytes(key.data()), nullptr, seals ? 1 : 0) == 1);
    }

    /// Begins the next piece, whose associated data is the tag.
    void next(PieceTag tag) {
        std::array<unsigned char, 12> nonce{};
        std::memcpy(nonce.data() + 4, &number_, sizeof number_);
        ++number_;
        const auto associated = static_cast<unsigned char>(tag);
        int count = 0;
        require(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data(),
                                  seals_ ? 1 : 0) == 1);
        require(EVP_CipherUpdate(context_.get(), nullptr, &count, &associated, 1) == 1);
    }
    void update(std::span<const std::byte> from, std::byte* to) {
        if (from.empty()) return;
        int count = 0;
        require(EVP_CipherUpdate(context_.get(), cipher_bytes(to), &count,
                                 cipher_bytes(from.data()), static_cast<int>(from.size())) == 1);
    }
    /// Ends a sealed piece.
    void finish(std::byte* mac) {
        int count = 0;
        std::array<unsigned char, kMacBytes> none{};
        require(EVP_CipherFinal_ex(context_.get(), none.data(), &count) == 1);
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kMacBytes, mac) == 1);
    }
    /// Ends an opened piece; false if it was not sealed with this key, number and tag.
    bool check(std::span<const std::byte> mac) {
        std::array<unsigned char, kMacBytes> wanted{};
        std::memcpy(wanted.data(), mac.data(), kMacBytes);
        int count = 0;
        std::array<unsigned char, kMacBytes> none{};
        require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kMacBytes,
                                    wanted.data()) == 1);
        return EVP_CipherFinal_ex(context_.get(), none.data(), &count) == 1;
    }

  private:
    struct Free {
        void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
    };
    static void require(bool is_done) { DEDLOC_CHECK(is_done, "OpenSSL computes AES-256-GCM"); }

    const std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
    const bool seals_;
    std::uint64_t number_ = 0;
};

class AesSealer final : public StreamSealer {
  public:
    explicit AesSealer(std::span<const std::byte, 32> key) : aes_(key, true) {}
    void seal(Parts plain, PieceTag tag, std::span<std::byte> sealed) override {
        aes_.next(tag);
        sealed[0] = static_cast<std::byte>(tag);
        std::byte* to = sealed.data() + 1;
        for (const auto part : plain) {
            aes_.update(part, to);
            to += part.size();
        }
        aes_.finish(to);
    }

  private:
    Aes aes_;
};

class AesOpener final : public StreamOpener {
  public:
    explicit AesOpener(std::span<const std::byte, 32> key) : aes_(key, false) {}
    void begin(std::span<const std::byte>) override {}
    std::optional<PieceTag> open(std::span<const std::byte> sealed,
                                 std::span<std::byte> plain) override {
        const auto tag = static_cast<PieceTag>(sealed[0]);
        aes_.next(tag);
        aes_.update(sealed.subspan(1, plain.size()), plain.data());
        if (!aes_.check(sealed.last(kMacBytes))) return std::nullopt;
        return tag;
    }

  private:
    Aes aes_;
};

}  // namespace

bool processor_has_aes() {
    static const bool has_aes = sodium_init() >= 0 && crypto_aead_aes256gcm_is_available() == 1;
    return has_aes;
}

std::size_t start_bytes(Cipher cipher) {
    return cipher == Cipher::kAes256Gcm ? 0 : crypto_secretstream_xchacha20poly1305_HEADERBYTES;
}

std::unique_ptr<StreamSealer> make_sealer(Cipher cipher, std::span<const std::byte, 32> key,
                                          std::span<std::byte> start) {
    if (cipher == Cipher::kAes256Gcm) return std::make_unique<AesSealer>(key);
    return std::make_unique<XChaChaSealer>(key, start);
}

std::unique_ptr<StreamOpener> make_opener(Cipher cipher, std::span<const std::byte, 32> key) {
    if (cipher == Cipher::kAes256Gcm) return std::make_unique<AesOpener>(key);
    return std::make_unique<XChaChaOpener>(key);
}

}  // namespace dedloc::net
