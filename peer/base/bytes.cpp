// Hex and base64 conversion by libsodium, whose decoders, with no characters to ignore, accept
// nothing else; that for hex accepts both cases. It also stops early at a bad digit, so from_hex()
// checks that it has consumed the whole text and has filled the whole output.
#include "peer/base/bytes.hpp"

#include <sodium.h>

namespace dedloc {
namespace {

constexpr int kBase64 = sodium_base64_VARIANT_ORIGINAL;

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
    std::string text(bytes.size() * 2 + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                   bytes.size());
    text.pop_back();
    return text;
}

bool from_hex(std::string_view text, std::span<std::byte> out) {
    if (text.size() != out.size() * 2) return false;
    if (out.empty()) return true;  // libsodium takes no null pointer
    std::size_t length = 0;
    const char* end = nullptr;
    const int status = sodium_hex2bin(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                                      text.data(), text.size(), nullptr, &length, &end);
    return status == 0 && length == out.size() && end == text.data() + text.size();
}

std::string to_base64(std::span<const std::byte> bytes) {
    std::string text(sodium_base64_encoded_len(bytes.size(), kBase64), '\0');
    sodium_bin2base64(text.data(), text.size(),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kBase64);
    text.pop_back();  // the terminator
    return text;
}

std::optional<std::string> from_base64(std::string_view text) {
    std::string bytes(text.size() / 4 * 3 + 3, '\0');
    std::size_t length = 0;
    if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                          text.size(), nullptr, &length, nullptr, kBase64) != 0) {
        return std::nullopt;
    }
    bytes.resize(length);
    return bytes;
}

}  // namespace dedloc
