// Tells numeric addresses from other text without a resolver.
#pragma once

#include <string_view>

namespace dedloc::wire {

/// Whether the text is an IPv4 address in dotted decimal, or an IPv6 address without brackets and
/// zone: exactly what inet_pton(3) accepts.
bool is_numeric_address(std::string_view text);

}  // namespace dedloc::wire
