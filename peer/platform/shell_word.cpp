// Single quotes keep everything but themselves: each of them ends the quoted text, stands there
// escaped, and begins it again.
#include "peer/platform/shell_word.hpp"

#include <string_view>

namespace dedloc::platform {

std::string shell_word(const std::filesystem::path& text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
    if (!text.empty() && text.string().find_first_not_of(kPlain) == std::string::npos) {
        return text.string();
    }
    std::string word = "'";
    for (const char c : text.string()) {
        if (c == '\'') {
            word += "'\\''";
        } else {
            word += c;
        }
    }
    return word + "'";
}

}  // namespace dedloc::platform
