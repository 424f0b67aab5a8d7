// Hex conversion by libsodium, whose decoder accepts both cases and, with no characters to ignore,
// nothing else. It also stops early at a bad digit, so from_hex() checks that it has consumed the
// whole text and has filled the whole output.
#include "peer/base/bytes.hpp"

#include <sodium.h>

namespace dedloc {

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

}  // namespace dedloc
