// Text in the encodings of clients. BOINC's messages are UTF-8 by custom only: on Windows a client
// sends the computer's name as gethostname() returns it, in the code page of the system, and
// boinccmd the words of its command line, without saying which code page that is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dedloc::server {

/// `bytes` as UTF-8; README.md has the rule. UTF-8 stays as it is, without a character that is cut
/// off at its end. Other bytes are of the first of these code pages in which they can be a name:
/// Windows-1251 (Cyrillic), 932 (Japanese), 936 (Chinese); else of Windows-1252. A wrong guess
/// loses nothing: each code page has one character for each byte or pair of bytes.
std::string utf8_of(std::string_view bytes);

/// utf8_of() each line: a log may have lines of several programs.
std::string utf8_lines_of(std::string_view bytes);

/// The longest beginning of a UTF-8 text that has at most `limit` bytes and ends with a whole
/// character.
std::string_view cut_text(std::string_view text, std::size_t limit);

}  // namespace dedloc::server
