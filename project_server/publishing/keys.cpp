// BOINC's library signs, verifies and converts keys to hex; OpenSSL only makes pairs, whose numbers
// are copied into BOINC's structures of fixed size. Key files are created with O_EXCL, so a key
// that exists is never replaced, and private keys are wiped from memory. The length of a signature
// is checked here before the library decodes it, because the library does not.
#include "project_server/publishing/keys.hpp"

#include <config.h>

#include <crypt.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <md5_file.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKeyFile = 4'096;  // bytes of a public key's file

struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

struct FreeKey {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

File open_file(const fs::path& path, int flags, mode_t permissions, const char* mode) {
    return File{fdopen(platform::open_to("open", path, flags, permissions).release(), mode)};
}

/// Copies one number of the key pair: big-endian, padded to the field's size as in BOINC's format.
template <std::size_t N>
void copy_number(const EVP_PKEY& key, const char* name, unsigned char (&field)[N]) {
    BIGNUM* number = nullptr;
    if (EVP_PKEY_get_bn_param(&key, name, &number) != 1 ||
        BN_bn2binpad(number, field, static_cast<int>(N)) < 0) {
        BN_free(number);
        throw Error("OpenSSL cannot read its RSA key pair.");
    }
    BN_clear_free(number);
}

template <class Key>
KEY* as_boinc_key(Key& key) {
    return reinterpret_cast<KEY*>(&key);
}

template <class Key>
void write_key(const fs::path& path, Key& key, mode_t permissions) {
    const File file = open_file(path, O_WRONLY | O_CREAT | O_EXCL, permissions, "w");
    print_key_hex(file.get(), as_boinc_key(key), sizeof(key));
    if (std::fflush(file.get()) != 0 || std::ferror(file.get()) != 0) {
        platform::fail("write", path, errno);
    }
}

}  // namespace

void make_key_pair(const fs::path& directory, const std::string& name) {
    const std::unique_ptr<EVP_PKEY, FreeKey> pair{EVP_RSA_gen(MAX_RSA_MODULUS_BITS)};
    if (!pair) throw Error("OpenSSL cannot make an RSA key pair.");
    R_RSA_PRIVATE_KEY secret{};
    secret.bits = MAX_RSA_MODULUS_BITS;
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_N, secret.modulus);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_E, secret.publicExponent);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_D, secret.exponent);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_FACTOR1, secret.prime[0]);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_FACTOR2, secret.prime[1]);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_EXPONENT1, secret.primeExponent[0]);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_EXPONENT2, secret.primeExponent[1]);
    copy_number(*pair, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, secret.coefficient);
    R_RSA_PUBLIC_KEY open{};
    open.bits = MAX_RSA_MODULUS_BITS;
    std::memcpy(open.modulus, secret.modulus, sizeof(open.modulus));
    std::memcpy(open.exponent, secret.publicExponent, sizeof(open.exponent));
    write_key(directory / (name + "_private"), secret, 0600);
    write_key(directory / (name + "_public"), open, 0644);
    OPENSSL_cleanse(&secret, sizeof(secret));
}

std::string read_public_key_text(const fs::path& path) {
    std::string text = platform::read_text(path, kMaxKeyFile);
    std::erase(text, '\r');  // clients compare keys as texts
    const std::string_view key = trimmed(text);
    if (key.empty()) throw InputError(fmt::format("{} contains no BOINC key.", path.string()));
    return std::string{key};
}

std::string md5_of_file(const fs::path& file) {
    std::array<char, 64> digest{};
    double bytes = 0;
    if (md5_file(file.c_str(), digest.data(), bytes) != 0) platform::fail("read", file, errno);
    return digest.data();
}

std::string md5_of_text(std::string_view text) {
    return md5_string(reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
}

struct SigningKey::Key {
    R_RSA_PRIVATE_KEY boinc{};
    ~Key() { OPENSSL_cleanse(&boinc, sizeof(boinc)); }
};

SigningKey::SigningKey(const fs::path& file) : key_(std::make_unique<Key>()) {
    const File opened = open_file(file, O_RDONLY, 0, "r");
    if (scan_key_hex(opened.get(), as_boinc_key(key_->boinc), sizeof(key_->boinc)) != 0) {
        throw InputError(fmt::format("{} contains no BOINC key.", file.string()));
    }
}

SigningKey::~SigningKey() = default;

std::string SigningKey::sign_file(const fs::path& file) const {
    return sign_md5(md5_of_file(file));
}

std::string SigningKey::sign_md5(const std::string& md5) const {
    std::string copy = md5;
    DATA_BLOCK input{reinterpret_cast<unsigned char*>(copy.data()),
                     static_cast<unsigned int>(copy.size())};
    std::array<unsigned char, SIGNATURE_SIZE_BINARY> bytes{};
    DATA_BLOCK signature{bytes.data(), bytes.size()};
    if (encrypt_private(key_->boinc, input, signature) != 0) {
        throw Error("OpenSSL cannot sign a checksum.");
    }
    std::array<char, SIGNATURE_SIZE_TEXT> text{};
    sprint_hex_data(text.data(), signature);
    return text.data();
}

std::string SigningKey::sign_text(std::string_view text) const {
    std::string copy{text};
    std::array<char, SIGNATURE_SIZE_TEXT> signature{};
    if (generate_signature(copy.data(), signature.data(), key_->boinc) != 0) {
        throw Error("OpenSSL cannot sign a text.");
    }
    return signature.data();
}

struct VerifyingKey::Key {
    R_RSA_PUBLIC_KEY boinc{};
    std::string text{};  ///< trimmed
};

VerifyingKey::VerifyingKey(const fs::path& file)
    : VerifyingKey(read_public_key_text(file), file.string()) {}

VerifyingKey::VerifyingKey(std::string_view text, const std::string& name)
    : key_(std::make_unique<Key>()) {
    key_->text = trimmed(text);
    if (sscan_key_hex(key_->text.c_str(), as_boinc_key(key_->boinc), sizeof(key_->boinc)) != 0) {
        throw InputError(fmt::format("{} contains no BOINC key.", name));
    }
}

VerifyingKey::~VerifyingKey() = default;

bool VerifyingKey::verifies(std::string_view text, std::string_view signature) const {
    // libboinc_crypt decodes into a buffer of the key's size without checking the length.
    if (signature.size() > SIGNATURE_SIZE_TEXT) return false;
    R_RSA_PUBLIC_KEY key = key_->boinc;
    bool good = false;
    const int failure = check_string_signature(std::string{text}.c_str(),
                                               std::string{signature}.c_str(), key, good);
    return failure == 0 && good;
}

bool VerifyingKey::verifies_file(const fs::path& file, std::string_view signature) const {
    return verifies_md5(md5_of_file(file), signature);
}

bool VerifyingKey::verifies_md5(const std::string& md5, std::string_view signature) const {
    // libboinc_crypt decodes into a buffer of the key's size without checking the length.
    if (signature.size() > SIGNATURE_SIZE_TEXT) return false;
    bool good = false;
    const int failure = check_file_signature2(md5.c_str(), std::string{signature}.c_str(),
                                              key_->text.c_str(), good);
    return failure == 0 && good;
}

bool VerifyingKey::is_half_of(const SigningKey& secret) const {
    constexpr const char* kText = "text to sign";
    return verifies(kText, secret.sign_text(kText));
}

}  // namespace dedloc::server
