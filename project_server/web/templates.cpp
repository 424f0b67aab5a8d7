// The JSON of a page is converted to Mustache's data before it is rendered. Mustache cannot format,
// so a number becomes an object with all its formats; empty texts and null become false, so that
// sections skip them. Shared parts are partials, whose text is looked up when a template includes
// them. The library's escape function is replaced by ours. A template that is missing or malformed
// is a fault of the program and aborts.
#include "project_server/web/templates.hpp"

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "peer/base/check.hpp"
#include "peer/base/markup.hpp"
#include "peer/base/utc_text.hpp"
#include "project_server/web/pages.hpp"

namespace dedloc::server {
namespace {

using Mustache = kainjow::mustache::mustache;
using Fields = kainjow::mustache::data;
using List = kainjow::mustache::list;

constexpr double kDay = 86'400;

std::string with_commas(double value, int decimals = 0) {
    std::string digits = fmt::format("{:.{}f}", value, decimals);
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    const std::size_t end = std::min(digits.find('.'), digits.size());
    for (std::size_t at = end; at > first + 3;) digits.insert(at -= 3, ",");
    return digits;
}

/// Three significant digits without an exponent, at least four decimals: 0.0004, 0.00000181.
std::string small(double value) {
    const double size = std::abs(value);
    const bool is_tiny = size > 0 && size < 1e-3;
    const int decimals = is_tiny ? 2 - static_cast<int>(std::floor(std::log10(size))) : 4;
    return fmt::format("{:.{}f}", value, std::min(decimals, 20));
}

std::string date(double seconds) {
    if (!(seconds > 0) || seconds > 1e11) return "–";
    return utc_text(static_cast<std::int64_t>(seconds), "%Y-%m-%d %H:%M UTC");
}

std::string ago(double seconds) {
    if (seconds < 90) return fmt::format("{:.0f} s ago", seconds);
    if (seconds < 5400) return fmt::format("{:.0f} min ago", seconds / 60);
    if (seconds < 2 * kDay) return fmt::format("{:.0f} h ago", seconds / 3600);
    return fmt::format("{:.0f} days ago", seconds / kDay);
}

std::string bytes(double value) {
    const char* unit = "B";
    for (const char* const next : {"KiB", "MiB", "GiB", "TiB"}) {
        if (std::abs(value) < 1024) break;
        value /= 1024;
        unit = next;
    }
    return fmt::format("{:.1f} {}", value, unit);
}

Fields number(double value, std::string plain) {
    if (!std::isfinite(value)) value = 0;
    Fields fields{kainjow::mustache::data::type::object};
    fields.set("plain", std::move(plain));
    fields.set("count", with_commas(value));
    fields.set("f1", fmt::format("{:.1f}", value));
    fields.set("f2", with_commas(value, 2));
    fields.set("f4", fmt::format("{:.4f}", value));
    fields.set("small", small(value));
    fields.set("is_one", Fields{value == 1});
    fields.set("percent", fmt::format("{:.2f} %", 100 * value));
    fields.set("date", date(value));
    fields.set("ago", ago(value));
    fields.set("bytes", bytes(value));
    fields.set("hours", fmt::format("{:.1f} h", value / 3600));
    return fields;
}

Fields converted(const json::Value& data);

Fields converted_list(const json::Value::List& items) {
    List list;
    for (const json::Value& item : items) {
        if (std::holds_alternative<json::Value::Fields>(item.value()))
            list.push_back(converted(item));
    }
    return Fields{std::move(list)};
}

Fields converted(const json::Value& data) {
    return std::visit(
        []<class T>(const T& value) -> Fields {
            if constexpr (std::is_same_v<T, bool>) {
                return Fields{value};
            } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
                return Fields{false};
            } else if constexpr (std::is_arithmetic_v<T>) {
                return number(static_cast<double>(value), fmt::format("{}", value));
            } else if constexpr (std::is_same_v<T, std::string>) {
                return value.empty() ? Fields{false} : Fields{value};
            } else if constexpr (std::is_same_v<T, json::Value::List>) {
                return converted_list(value);
            } else {
                Fields fields{kainjow::mustache::data::type::object};
                for (const auto& [name, field] : value) fields.set(name, converted(field));
                return fields;
            }
        },
        data.value());
}

/// Templates that others include as {{>name}}.
constexpr const char* kParts[] = {"runs_table", "hosts_table", "sorting",     "pager",
                                  "badge_list", "fault_note",  "news_items",  "venue_form",
                                  "user_link",  "peers_begin", "old_versions"};

std::string render(std::string_view name, const Fields& fields) {
    Mustache page{std::string{page_file(name)}};
    DEDLOC_CHECK(page.is_valid(), "a template must be well formed", name, page.error_message());
    page.set_custom_escape([](const std::string& text) { return escape_markup(text); });
    return page.render(fields);
}

}  // namespace

const std::vector<PageFile>& page_files() {
    static const std::vector<PageFile> files{std::begin(kPageFiles), std::end(kPageFiles)};
    return files;
}

std::string_view page_file(std::string_view name) {
    const auto found = std::ranges::find(page_files(), name, &PageFile::name);
    DEDLOC_CHECK(found != page_files().end(), "a page's file must be compiled in", name);
    return found->text;
}

std::string fill_in(std::string_view name, const json::Value& data) {
    Fields fields = converted(data);
    for (const std::string part : kParts) {
        fields.set(part, Fields{kainjow::mustache::partial{
                             [part] { return std::string{page_file(part + ".html")}; }}});
    }
    return render(name, fields);
}

std::string lay_out(const json::Value& frame, std::string body) {
    Fields fields = converted(frame);
    fields.set("body", std::move(body));
    return render("layout.html", fields);
}

}  // namespace dedloc::server
