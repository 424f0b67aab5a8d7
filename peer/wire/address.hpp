// Numeric addresses as text, told from anything else without asking a resolver.
#pragma once

#include <string_view>

namespace dedloc::wire {

/// An IPv4 address in dotted decimal or an IPv6 address without brackets and zone: what
/// inet_pton(3) takes.
bool is_numeric_address(std::string_view text);

}  // namespace dedloc::wire
