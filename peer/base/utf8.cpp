// The first byte gives the length and the range of the second; the others continue.
#include "peer/base/utf8.hpp"

namespace dedloc {

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) return 0;
    const auto within = [&](std::size_t i, unsigned low, unsigned high) {
        if (i >= text.size()) return false;
        const unsigned byte = static_cast<unsigned char>(text[i]);
        return byte >= low && byte <= high;
    };
    const unsigned lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong form
        const unsigned high = lead == 0xED ? 0x9F : 0xBF;  // no surrogate
        return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const unsigned low = lead == 0xF0 ? 0x90 : 0x80;   // no overlong form
        const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;  // up to U+10FFFF
        return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace dedloc
