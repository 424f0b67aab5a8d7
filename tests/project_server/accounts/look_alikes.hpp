// Addresses that look like that of an account: to people, to a collation, to a mail program or to a
// relay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dedloc::server {

/// `count` different texts that a visitor may type for one of the addresses: letters in another
/// case, with accents, full-width, of other scripts, joined or dotless; invisible characters,
/// blanks, zero bytes and invalid UTF-8; quoted and commented local parts, names, lists, routes,
/// two @, percent-encodings, line ends with commands of SMTP and headers. Repeatable by its seed.
std::vector<std::string> look_alikes(const std::vector<std::string>& addresses, std::size_t count,
                                     std::uint64_t seed);

/// Whether a text names the address: it differs by the case of ASCII letters and by blanks around
/// it only. Written apart from the product's own function.
bool names(const std::string& typed, const std::string& address);

}  // namespace dedloc::server
