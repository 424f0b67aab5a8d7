// CURLU parses as libcurl's transfers do. It also repairs what browsers repair: it takes one or
// three slashes for two, and drops a colon without a port, so both are refused before. Every scheme
// is taken; callers compare it.
#include "project_server/url.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"

namespace dedloc::server {
namespace {

struct Free {
    void operator()(CURLU* handle) const { curl_url_cleanup(handle); }
    void operator()(char* text) const { curl_free(text); }
};
using Handle = std::unique_ptr<CURLU, Free>;

std::optional<std::string> part_of(const Handle& handle, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(handle.get(), part, &text, 0) != CURLUE_OK) return std::nullopt;
    return std::unique_ptr<char, Free>{text}.get();
}

/// What libcurl would repair or overlook; empty: nothing.
std::string fault_of(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == text.npos || text.substr(colon, 3) != "://") return "it has no scheme and ://";
    const std::string_view rest = text.substr(colon + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    if (authority.empty()) return "it has no host";
    if (authority.ends_with(':')) return "it has a colon without a port";
    if (text.find('\0') != text.npos) return "it has a control character";
    return {};
}

}  // namespace

std::string Url::authority() const {
    return port ? fmt::format("{}:{}", host, *port) : host;
}

Result<Url, std::string> parse_url(const std::string& text) {
    if (const std::string fault = fault_of(text); !fault.empty()) return Failure{fault};
    const Handle handle{curl_url()};
    if (!handle) throw IoError("libcurl cannot start");
    const CURLUcode code = curl_url_set(handle.get(), CURLUPART_URL, text.c_str(),
                                        CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS);
    if (code != CURLUE_OK) return Failure{std::string{curl_url_strerror(code)}};
    if (part_of(handle, CURLUPART_ZONEID)) return Failure{std::string{"its address has a zone"}};
    const auto part = [&](CURLUPart which) { return part_of(handle, which).value_or(""); };
    Url url{.scheme = part(CURLUPART_SCHEME),
            .user = part(CURLUPART_USER),
            .password = part_of(handle, CURLUPART_PASSWORD),
            .host = part(CURLUPART_HOST),
            .path = part(CURLUPART_PATH),
            .query = part(CURLUPART_QUERY),
            .fragment = part(CURLUPART_FRAGMENT)};
    if (text.find('/', text.find("://") + 3) == text.npos) url.path.clear();  // libcurl adds one
    url.port = parse_number<std::uint16_t>(part(CURLUPART_PORT));
    return url;
}

Url required_url(const std::string& text, const std::string& what) {
    auto url = parse_url(text);
    if (!url)
        throw InputError(fmt::format("{}: \"{}\" is not a URL: {}", what, text, url.reason()));
    return *std::move(url);
}

}  // namespace dedloc::server
