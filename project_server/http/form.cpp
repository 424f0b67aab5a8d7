#include "project_server/http/form.hpp"

#include <algorithm>

#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "project_server/xml/encodings.hpp"

namespace dedloc::server {
namespace {

/// Takes the text up to `separator` from the front of `rest`, and the separator.
std::string_view take(std::string_view& rest, char separator) {
    const auto end = rest.find(separator);
    const std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return piece;
}

std::optional<std::string> decoded(std::string_view text) {
    std::string plain{text};
    std::ranges::replace(plain, '+', ' ');
    auto out = percent_decoded(plain);
    if (!out) return std::nullopt;
    std::erase(*out, '\r');
    return valid_text(utf8_of(*out));
}

}  // namespace

std::optional<Form> Form::parse(std::string_view body) {
    if (body.size() > kMaxFormBytes) return std::nullopt;
    Form form;
    while (!body.empty()) {
        std::string_view value = take(body, '&');
        const std::string_view name = take(value, '=');
        auto plain_name = decoded(name);
        auto plain_value = decoded(value);
        if (!plain_name || !plain_value || form.fields_.size() == kMaxFormFields) {
            return std::nullopt;
        }
        form.fields_.emplace_back(std::move(*plain_name), std::move(*plain_value));
    }
    return form;
}

std::string Form::value(std::string_view name) const {
    const auto found =
        std::ranges::find(fields_, name, &std::pair<std::string, std::string>::first);
    return found == fields_.end() ? std::string{} : found->second;
}

std::string cookie_value(std::string_view header, std::string_view name) {
    while (!header.empty()) {
        std::string_view cookie = take(header, ';');
        while (cookie.starts_with(' ')) cookie.remove_prefix(1);
        std::string_view value = cookie;
        if (take(value, '=') == name) return std::string{value};
    }
    return {};
}

}  // namespace dedloc::server
