// The parts of a URL, by libcurl's parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "peer/base/result.hpp"

namespace dedloc::server {

/// SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?QUERY][#FRAGMENT]. An absent part is empty.
/// Scheme, host and port are made uniform; the others are as they were written.
struct Url {
    std::string scheme{};  ///< in lower case
    std::string user{};
    std::optional<std::string> password{};
    /// A name, with its %XX replaced; an IPv4 address as four decimal numbers; an IPv6 address in
    /// brackets.
    std::string host{};
    std::optional<std::uint16_t> port{};  ///< also 0
    std::string path{};                   ///< begins with a slash, if there is one
    std::string query{};                  ///< without the ?
    std::string fragment{};               ///< without the #
    bool operator==(const Url&) const = default;

    /// HOST or HOST:PORT.
    std::string authority() const;
    /// SCHEME://HOST or SCHEME://HOST:PORT.
    std::string origin() const { return scheme + "://" + authority(); }
    /// The path without slashes at its end.
    std::string folder() const { return path.substr(0, path.find_last_not_of('/') + 1); }
};

/// The parts, or why the text is not a URL. It must have both slashes after the scheme, and an IPv6
/// address no zone. Blanks and control characters are refused.
Result<Url, std::string> parse_url(const std::string& text);

/// The same. Errors: InputError "`what`: ...", which quotes the text.
Url required_url(const std::string& text, const std::string& what);

}  // namespace dedloc::server
