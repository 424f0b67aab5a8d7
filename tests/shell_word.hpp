// Commands for a shell, which tests with pipes between programs need.
#pragma once

#include <filesystem>
#include <string>

namespace dedloc::tests {

/// A path or another text as one word of a shell's command, whatever its characters.
inline std::string shell_word(const std::filesystem::path& text) {
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

}  // namespace dedloc::tests
