#include "project_server/control/place.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "peer/base/error.hpp"
#include "project_server/control/sockets.hpp"

namespace dedloc::control {
namespace {

constexpr std::string_view kScheme = "ssh://";
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t kMaxName = 253;
/// The longest path that fits a Unix socket's address.
constexpr std::size_t kMaxSocketPath = 107;

/// Whether the text has only letters, digits and `others`, and does not look like an option.
bool is_word(std::string_view text, std::string_view others) {
    const std::string allowed = std::string{kLetters} + std::string{others};
    return !text.empty() && text.front() != '-' && text.size() <= kMaxName &&
           text.find_first_not_of(allowed) == std::string_view::npos;
}

/// Splits HOST[:PORT]; false if it is none.
bool read_host(std::string_view text, RemoteEnd& end) {
    std::string_view host = text;
    std::string_view port;
    if (text.starts_with('[')) {
        const auto bracket = text.find(']');
        if (bracket == std::string_view::npos) return false;
        host = text.substr(1, bracket - 1);
        port = text.substr(bracket + 1);
        if (!is_word(host, ":.")) return false;
    } else {
        const auto colon = text.find(':');
        host = text.substr(0, colon);
        if (colon != std::string_view::npos) port = text.substr(colon);
        if (!is_word(host, ".-_")) return false;
    }
    end.host = host;
    if (port.empty()) return true;
    const char* const last = port.data() + port.size();
    const auto read = std::from_chars(port.data() + 1, last, end.port);
    return port.front() == ':' && read == std::from_chars_result{last, std::errc{}} &&
           end.port != 0;
}

}  // namespace

std::string RemoteEnd::text() const {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return fmt::format("{}{}@{}{}{}", kScheme, user, is_ipv6 ? "[" + host + "]" : host,
                       port == 0 ? std::string{} : fmt::format(":{}", port), folder);
}

RemoteEnd parse_remote_end(const std::string& text, const std::string& what) {
    std::string_view rest = text;
    RemoteEnd end;
    bool is_read = rest.starts_with(kScheme);
    if (is_read) rest.remove_prefix(kScheme.size());
    const auto slash = rest.find('/');
    const auto at = rest.substr(0, slash).find('@');
    is_read = is_read && slash != std::string_view::npos && at != std::string_view::npos;
    if (is_read) {
        end.user = rest.substr(0, at);
        end.folder = rest.substr(slash);
        is_read = is_word(end.user, "._-") && read_host(rest.substr(at + 1, slash - at - 1), end) &&
                  is_word(end.folder, "/._+=@,-");
    }
    if (!is_read) {
        throw InputError(fmt::format(
            "{}: a control plane on another machine is ssh://USER@HOST[:PORT]/FOLDER, not {}", what,
            text));
    }
    while (end.folder.size() > 1 && end.folder.ends_with('/')) end.folder.pop_back();
    if (end.folder.size() + 1 + std::string_view{kCommandsSocket}.size() > kMaxSocketPath) {
        throw InputError(fmt::format("{}: the path of {} would have more than {} bytes", what,
                                     end.folder + "/" + kCommandsSocket, kMaxSocketPath));
    }
    return end;
}

}  // namespace dedloc::control
