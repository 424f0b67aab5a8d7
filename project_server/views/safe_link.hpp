// Links that visitors and administrators wrote.
#pragma once

#include <string>
#include <string_view>

namespace dedloc::server {

/// `url` if it is an http or https address without blanks or quotes, else "". A link to anything
/// else, for example javascript:, would run in the visitor's session.
std::string safe_link(std::string_view url);

}  // namespace dedloc::server
