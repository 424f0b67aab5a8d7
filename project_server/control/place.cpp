#include "project_server/control/place.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "project_server/control/sockets.hpp"
#include "project_server/url.hpp"

namespace dedloc::control {
namespace {

constexpr std::string_view kScheme = "ssh";
constexpr std::size_t kMaxName = 253;
/// The longest path that fits a Unix socket's address.
constexpr std::size_t kMaxSocketPath = 107;

/// Whether the text has only letters, digits and `others`, and does not look like an option.
bool is_word(std::string_view text, std::string_view others) {
    return is_made_of_letters(text, others) && text.front() != '-' && text.size() <= kMaxName;
}

std::optional<RemoteEnd> read_end(const std::string& text) {
    const auto url = server::parse_url(text);
    // Nothing that the parser decodes or cuts off.
    if (!url || url->scheme != kScheme || text.find_first_of("%?#") != text.npos) return {};
    if (url->password || url->port == 0) return {};
    std::string host = url->host;
    const bool is_ipv6 = host.starts_with('[');
    if (is_ipv6) host = host.substr(1, host.size() - 2);
    if (!is_word(url->user, "._-") || !is_word(host, is_ipv6 ? ":." : ".-_") ||
        !is_word(url->path, "/._+=@,-")) {
        return {};
    }
    return RemoteEnd{
        .user = url->user, .host = host, .port = url->port.value_or(0), .folder = url->path};
}

}  // namespace

std::string RemoteEnd::text() const {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return fmt::format("{}://{}@{}{}{}", kScheme, user, is_ipv6 ? "[" + host + "]" : host,
                       port == 0 ? std::string{} : fmt::format(":{}", port), folder);
}

RemoteEnd parse_remote_end(const std::string& text, const std::string& what) {
    auto read = read_end(text);
    if (!read) {
        throw InputError(fmt::format(
            "{}: a control plane on another machine is ssh://USER@HOST[:PORT]/FOLDER, not {}", what,
            text));
    }
    RemoteEnd& end = *read;
    while (end.folder.size() > 1 && end.folder.ends_with('/')) end.folder.pop_back();
    if (end.folder.size() + 1 + std::string_view{kCommandsSocket}.size() > kMaxSocketPath) {
        throw InputError(fmt::format("{}: the path of {} would have more than {} bytes", what,
                                     end.folder + "/" + kCommandsSocket, kMaxSocketPath));
    }
    return end;
}

}  // namespace dedloc::control
