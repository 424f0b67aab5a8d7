// Text from outside, made fit for XML, HTML and terminals.
#pragma once

#include <string>
#include <string_view>

namespace dedloc {

/// `text` with a '?' for each byte that is not part of UTF-8, and for each character that no XML
/// document may contain: control characters but tab and line ends, U+FFFE, U+FFFF.
std::string valid_text(std::string_view text);

/// `text` with a '?' for each byte of a control character, so that it is one line and does nothing
/// else to a terminal.
std::string printable_text(std::string text);

/// valid_text(), escaped for use inside an XML or HTML element or an attribute in quotes.
std::string escape_markup(std::string_view text);

}  // namespace dedloc
