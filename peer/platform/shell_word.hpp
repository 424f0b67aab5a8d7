// Commands for a shell: those that are printed to be copied, and those of tests.
#pragma once

#include <filesystem>
#include <string>

namespace dedloc::platform {

/// A path or another text as one word of a shell's command, in quotes if it has a character that a
/// shell could take for its own.
std::string shell_word(const std::filesystem::path& text);

}  // namespace dedloc::platform
