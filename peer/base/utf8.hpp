// Text from outside: is it UTF-8 (Unicode, table 3-7)?
#pragma once

#include <cstddef>
#include <string_view>

namespace dedloc {

/// Bytes of the character that `text` begins with: 1 to 4; 0 if `text` is empty or does not begin
/// with a whole character: an overlong form, a surrogate, more than U+10FFFF, or cut.
std::size_t utf8_length(std::string_view text);

/// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace dedloc
