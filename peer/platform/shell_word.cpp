// Single quotes keep everything but themselves: each of them ends the quoted text, stands there
// escaped, and begins it again.
#include "peer/platform/shell_word.hpp"

#include <string_view>

#include "peer/base/text.hpp"

namespace dedloc::platform {

std::string shell_word(const std::filesystem::path& text) {
    if (is_made_of_letters(text.string(), "_-./:=@%+,")) return text.string();
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
