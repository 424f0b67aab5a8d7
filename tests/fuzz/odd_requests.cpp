#include "tests/fuzz/odd_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

namespace dedloc::fuzz {
namespace {

using namespace std::string_view_literals;

/// Numbers at and beyond the limits of types, texts of other scripts and encodings, look-alikes,
/// and what is special to XML, HTML, SQL, shells, paths and printf.
constexpr std::string_view kOddValues[] = {"",
                                           " ",
                                           "\t",
                                           "\n",
                                           "\r\n",
                                           "0",
                                           "-0",
                                           "-1",
                                           "1",
                                           "1.5",
                                           "00000000000000000001",
                                           "0x10",
                                           "nan",
                                           "NaN",
                                           "-nan",
                                           "inf",
                                           "-Infinity",
                                           "1e400",
                                           "-1e400",
                                           "1e308",
                                           "1e39",
                                           "1e-400",
                                           "2147483647",
                                           "2147483648",
                                           "-2147483649",
                                           "4294967295",
                                           "4294967296",
                                           "9007199254740993",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551616",
                                           "1,5",
                                           "1 2",
                                           "компьютер",
                                           "王小明",
                                           "José",
                                           "Jose\u0301",
                                           "\xE9",
                                           "Jos\xE9",
                                           "\xFF\xFE",
                                           "\U0001F600",
                                           "\u00DF",
                                           "\u0130",
                                           "\u0131",
                                           "\u017F",
                                           "\uFB01",
                                           "\u212A",
                                           "\uFF41",
                                           "\u200B",
                                           "\u202E",
                                           "\uFEFF",
                                           "\uFFFE",
                                           "\u0080",
                                           "\xED\xA0\x80",
                                           "\xC0\x80",
                                           "\xF4\x90\x80\x80",
                                           "\xE2\x82",
                                           "\0"sv,
                                           "a\0b"sv,
                                           "\x01",
                                           "\x7F",
                                           "<b>",
                                           "</x>",
                                           "<x/>",
                                           "<",
                                           ">",
                                           "]]>",
                                           "<![CDATA[x]]>",
                                           "<!--",
                                           "<?x",
                                           "&amp;",
                                           "&lt;b&gt;",
                                           "&#0;",
                                           "&#x1F600;",
                                           "&#55296;",
                                           "&bogus;",
                                           "&",
                                           "'",
                                           "\"",
                                           "\\",
                                           "\\'",
                                           "'; drop table user; -- ",
                                           "' or '1'='1",
                                           "\x1A",
                                           "%",
                                           "_",
                                           "%00",
                                           "%s%n%d",
                                           "${x}",
                                           "$(x)",
                                           "`",
                                           ";",
                                           "*",
                                           "+",
                                           "../../x",
                                           "/etc/passwd",
                                           ".",
                                           "..",
                                           "-x",
                                           "true",
                                           "null",
                                           "{}",
                                           "[]",
                                           "[CUDA|x|1|1MB|]",
                                           "[CUDA|x|-1|1e400MB|][BOINC|7.20.5]",
                                           "a@b",
                                           "A@B ",
                                           "@",
                                           "a@b@c",
                                           "a@[::1]"};

std::string odd_value(Recipe& recipe) {
    return std::string{kOddValues[recipe.choose(std::size(kOddValues))]};
}

/// A text of up to 70,000 bytes; lengths around those of columns are frequent.
std::string long_text(Recipe& recipe) {
    static constexpr std::array<std::size_t, 12> kLengths = {15,  16,  33,  64,    127,    128,
                                                             254, 255, 256, 4'096, 65'535, 70'000};
    static constexpr std::array<std::string_view, 5> kPieces = {"a", "é", "\U0001F600", "\xE9",
                                                                "<"};
    const std::size_t length = kLengths[recipe.choose(kLengths.size())];
    const std::string_view piece = kPieces[recipe.choose(kPieces.size())];
    std::string text;
    while (text.size() + piece.size() <= length) text += piece;
    return text;
}

/// Parts of a document: where a tag is, with its brackets, and the value of a leaf.
struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
};

std::vector<Part> tags_of(const std::string& xml) {
    std::vector<Part> tags;
    for (std::size_t at = 0; (at = xml.find('<', at)) != std::string::npos;) {
        const auto end = xml.find('>', at);
        if (end == std::string::npos) break;
        tags.push_back({at, end + 1});
        at = end + 1;
    }
    return tags;
}

/// An element without elements: its two tags.
struct Leaf {
    Part open;
    Part close;
    std::string name;
};

std::vector<Leaf> leaves_of(const std::string& xml) {
    const auto tags = tags_of(xml);
    std::vector<Leaf> leaves;
    for (std::size_t i = 1; i < tags.size(); ++i) {
        const std::string name =
            xml.substr(tags[i - 1].begin + 1, tags[i - 1].end - tags[i - 1].begin - 2);
        const std::string end = xml.substr(tags[i].begin, tags[i].end - tags[i].begin);
        if (end == "</" + name + ">") leaves.push_back({tags[i - 1], tags[i], name});
    }
    return leaves;
}

}  // namespace

std::size_t Recipe::choose(std::size_t count) {
    std::size_t number = 0;
    for (std::size_t range = 1; range < count && !rest_.empty(); range *= 256) {
        number = number * 256 + std::to_integer<std::size_t>(rest_.front());
        rest_ = rest_.subspan(1);
    }
    return number % count;
}

std::string Recipe::raw() {
    const std::size_t size = std::min(choose(256), rest_.size());
    const std::string text{reinterpret_cast<const char*>(rest_.data()), size};
    rest_ = rest_.subspan(size);
    return text;
}

std::string Recipe::value(std::span<const std::string> others) {
    switch (choose(8)) {
        case 0:
        case 1:
        case 2:
            return odd_value(*this);
        case 3:
        case 4:
            if (!others.empty()) return others[choose(others.size())];
            return odd_value(*this);
        case 5:
            return long_text(*this);
        case 6: {  // two of them, one after the other
            std::string both = odd_value(*this);
            if (!others.empty()) both += others[choose(others.size())];
            return both + odd_value(*this);
        }
        default:
            return raw();
    }
}

void make_odd(std::string& xml, Recipe& recipe, std::span<const std::string> others) {
    const auto leaves = leaves_of(xml);
    const auto tags = tags_of(xml);
    const std::size_t change = recipe.choose(8);
    if (change < 6 && !leaves.empty()) {
        const Leaf& leaf = leaves[recipe.choose(leaves.size())];
        const std::string value = change == 3 ? "" : recipe.value(others);
        const std::string whole = fmt::format("<{0}>{1}</{0}>", leaf.name, value);
        const auto replace = [&](std::size_t begin, std::size_t end, const std::string& text) {
            xml.replace(begin, end - begin, text);
        };
        if (change < 3) return replace(leaf.open.end, leaf.close.begin, value);
        if (change == 3) return replace(leaf.open.begin, leaf.close.end, "");
        if (change == 4) return replace(leaf.open.begin, leaf.open.begin, whole);
        const auto place = leaves[recipe.choose(leaves.size())].open.begin;
        return replace(place, place, whole);
    }
    if (change < 7 && !tags.empty()) {
        const Part& tag = tags[recipe.choose(tags.size())];
        xml.replace(tag.begin, tag.end - tag.begin, recipe.value(others));
        return;
    }
    const std::size_t place = recipe.choose(std::min<std::size_t>(xml.size() + 1, 65'536));
    if (recipe.choose(2) == 0) xml.resize(place);
    xml.insert(place, recipe.value(others));
}

void make_odd(Fields& fields, Recipe& recipe, std::span<const std::string> others) {
    const std::size_t change = recipe.choose(8);
    if (fields.empty() || change == 7) {
        fields.emplace_back(recipe.value(others), recipe.value(others));
        return;
    }
    const auto field = fields.begin() + static_cast<std::ptrdiff_t>(recipe.choose(fields.size()));
    if (change < 4) {
        field->second = recipe.value(others);
    } else if (change == 4) {
        fields.erase(field);
    } else if (change == 5) {
        const std::string name = field->first;
        fields.insert(field, {name, recipe.value(others)});
    } else {
        field->second += recipe.value(others);
    }
}

void make_odd_json(Fields& fields, Recipe& recipe, std::span<const std::string> others) {
    const bool is_text = recipe.choose(2) == 0;
    Fields changed = fields;
    make_odd(changed, recipe, others);
    for (auto& field : changed) {
        const bool is_old = std::ranges::any_of(
            fields, [&](const auto& each) { return each.second == field.second; });
        if (!is_old && is_text) field.second = json_string(field.second);
    }
    fields = std::move(changed);
}

std::string form_text(const Fields& fields) {
    std::string text;
    const auto add = [&text](const std::string& part) {
        for (const char c : part) {
            if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
                text += c;
            } else {
                text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
            }
        }
    };
    for (const auto& [name, value] : fields) {
        if (!text.empty()) text += '&';
        add(name);
        text += '=';
        add(value);
    }
    return text;
}

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c >= 0 && c < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string json_text(const Fields& fields) {
    std::string text = "{";
    for (const auto& [name, value] : fields) {
        text += fmt::format("{}{}: {}", text.size() == 1 ? "" : ", ", json_string(name), value);
    }
    return text + "}";
}

}  // namespace dedloc::fuzz
