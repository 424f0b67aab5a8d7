// The text of an object is made in two rounds: first the fields that are values, aligned by the
// longest title, then each table under its title. The end of a field's name decides how a signed
// integer or a real is shown: _at is a time, _bytes a size. The first object of a list determines
// the columns of its table, and all lines get as many cells. A column is as wide as its widest
// cell, within a limit that does not hold for the last one. Widths count characters of UTF-8, not
// bytes.
#include "project_server/cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "peer/base/markup.hpp"
#include "peer/base/utc_text.hpp"

namespace dedloc::cli {
namespace {

using Fields = json::Value::Fields;
using List = json::Value::List;

constexpr std::size_t kMaxColumn = 40;  ///< characters of a column, except for the last one

/// The name of a field in text: "created_at" is "created", "free_bytes" is "free".
std::string title_of(std::string name) {
    for (const std::string_view unit : {"_at", "_bytes"}) {
        if (name.ends_with(unit)) name.resize(name.size() - unit.size());
    }
    std::ranges::replace(name, '_', ' ');
    return name;
}

std::string time_text(std::int64_t seconds) {
    return seconds <= 0 ? "never" : utc_text(seconds);
}

std::string bytes_text(std::int64_t bytes) {
    const auto number = static_cast<double>(bytes);
    if (bytes < 1'000'000) return fmt::format("{} bytes", bytes);
    if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", number / 1e6);
    return fmt::format("{:.1f} GB", number / 1e9);
}

/// A value that is no list of objects, on one line.
std::string cell(const std::string& name, const json::Value& data) {
    return std::visit(
        [&]<class T>(const T& value) -> std::string {
            if constexpr (std::is_same_v<T, bool>) {
                return value ? "yes" : "no";
            } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
                return "none";
            } else if constexpr (std::is_same_v<T, std::uint64_t>) {
                return std::to_string(value);
            } else if constexpr (std::is_same_v<T, std::int64_t>) {
                if (name.ends_with("_bytes")) return bytes_text(value);
                return name.ends_with("_at") ? time_text(value) : std::to_string(value);
            } else if constexpr (std::is_same_v<T, double>) {
                if (name.ends_with("_at")) return time_text(static_cast<std::int64_t>(value));
                if (name.ends_with("_bytes")) return bytes_text(static_cast<std::int64_t>(value));
                return fmt::format("{:.10g}", value);
            } else if constexpr (std::is_same_v<T, std::string>) {
                return printable_text(value);
            } else if constexpr (std::is_same_v<T, List>) {
                std::string text;
                for (const json::Value& item : value) {
                    text += (text.empty() ? "" : ", ") + cell(name, item);
                }
                return text;
            } else {
                std::string text;
                for (const auto& [inner, field] : value) {
                    text += (text.empty() ? "" : ", ") + title_of(inner) + ' ' + cell(inner, field);
                }
                return text;
            }
        },
        data.value());
}

/// Characters of UTF-8 text.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
    const std::size_t has = width_of(text);
    return has < width ? text + std::string(width - has, ' ') : text;
}

/// The text cut to `width` characters.
std::string cut(const std::string& text, std::size_t width) {
    std::size_t at = 0;
    for (std::size_t count = 0; at < text.size(); ++at) {
        if ((text[at] & 0xC0) != 0x80 && count++ == width) break;
    }
    return text.substr(0, at);
}

bool is_table(const json::Value& data) {
    const auto* const list = std::get_if<List>(&data.value());
    return list != nullptr &&
           (list->empty() || std::holds_alternative<Fields>(list->front().value()));
}

/// A line for each object, a column for each field of the first one.
std::string table(const List& list) {
    std::vector<std::vector<std::string>> lines(1);
    for (const auto& [name, value] : std::get<Fields>(list.front().value())) {
        lines.front().push_back(title_of(name));
    }
    for (const json::Value& item : list) {
        auto& line = lines.emplace_back();
        for (const auto& [name, value] : std::get<Fields>(item.value())) {
            line.push_back(cell(name, value));
        }
        line.resize(lines.front().size());
    }
    std::string text;
    std::vector<std::size_t> widths(lines.front().size(), 0);
    for (const auto& line : lines) {
        for (std::size_t at = 0; at < line.size(); ++at) {
            widths[at] = std::min(std::max(widths[at], width_of(line[at])), kMaxColumn);
        }
    }
    for (const auto& line : lines) {
        std::string row;
        for (std::size_t at = 0; at + 1 < line.size(); ++at) {
            row += padded(cut(line[at], widths[at]), widths[at]) + "  ";
        }
        text += "  " + row + (line.empty() ? "" : line.back()) + '\n';
    }
    return text;
}

}  // namespace

std::string text_of(const json::Value& data) {
    const auto& fields = std::get<Fields>(data.value());
    std::size_t width = 0;
    for (const auto& [name, value] : fields) {
        if (!is_table(value)) width = std::max(width, title_of(name).size());
    }
    std::string text;
    for (const auto& [name, value] : fields) {
        if (is_table(value)) continue;
        text += padded(title_of(name), width) + "  " + cell(name, value) + '\n';
    }
    for (const auto& [name, value] : fields) {
        if (!is_table(value)) continue;
        const auto& list = std::get<List>(value.value());
        text += title_of(name) + (list.empty() ? ": none\n" : ":\n" + table(list));
    }
    return text;
}

void print(const json::Value& data, bool as_json) {
    fmt::print("{}", as_json ? json::write(data) + '\n' : text_of(data));
}

}  // namespace dedloc::cli
