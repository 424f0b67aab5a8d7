// What browsers send to the web pages: the body of a form, or the header with cookies.
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "project_server/scheduler/xml.hpp"
#include "project_server/web/form.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {

void run(std::span<const std::byte> input) {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    const std::string cookie = server::cookie_value(text, "dedloc_session");
    DEDLOC_CHECK(cookie.empty() || text.find(cookie) != std::string_view::npos,
                 "a cookie's value is a part of the header");
    DEDLOC_CHECK(cookie.find(';') == std::string::npos, "a cookie ends at a semicolon");
    const auto form = server::Form::parse(text);
    if (!form) return;
    DEDLOC_CHECK(text.size() <= server::kMaxFormBytes, "a form keeps its limit");
    for (const std::string_view name : {"name", "next", "form_token", ""}) {
        const std::string value = form->value(name);
        DEDLOC_CHECK(value.size() <= text.size(), "decoding does not lengthen");
        DEDLOC_CHECK(server::valid_utf8(value) == value, "a value is valid UTF-8");
        DEDLOC_CHECK(value.find('\r') == std::string::npos, "a value has no carriage return");
    }
}

}  // namespace dedloc::fuzz
