// The constructor scans all tags once: TagScanner skips CDATA and comments, remembers where their
// last found end is, so the scan stays linear, and pairs each closing tag with the last open one of
// its name through a map. next() only walks along the list of tags and jumps from a tag to its
// partner, so nested elements are not entered. A lone opening tag and the next lone tag, if that
// closes an element, are lost with all between them (skip_lost()).
#include "project_server/xml/xml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "project_server/xml/encodings.hpp"

namespace dedloc::server {
namespace {

/// Text that may contain tags which are none.
struct Section {
    std::string_view begin;
    std::string_view end;
};
constexpr std::array<Section, 2> kSections{{{"<![CDATA[", "]]>"}, {"<!--", "-->"}}};

/// Reads the tags of a text from its beginning to its end.
class TagScanner {
  public:
    explicit TagScanner(std::string_view text) : text_(text) {}

    std::vector<XmlTag> scan() {
        std::size_t at = text_.find('<');
        while (at != std::string_view::npos) {
            std::size_t behind = section_end(at);
            if (behind == at) behind = take_tag(at);
            at = text_.find('<', behind);
        }
        return std::move(tags_);
    }

  private:
    /// Offset behind the section that begins at `at`; `at` if none does. A section without an end,
    /// or with the beginning of another one inside, has lost its end: its beginning is text.
    std::size_t section_end(std::size_t at) {
        for (std::size_t i = 0; i < kSections.size(); ++i) {
            const Section& section = kSections[i];
            if (!text_.substr(at).starts_with(section.begin)) continue;
            const std::size_t inside = at + section.begin.size();
            // An end that was found is that of all earlier sections too.
            if (ends_[i] < inside) ends_[i] = text_.find(section.end, inside);
            if (ends_[i] == std::string_view::npos || has_beginning(inside, ends_[i])) return at;
            return ends_[i] + section.end.size();
        }
        return at;
    }

    bool has_beginning(std::size_t from, std::size_t end) const {
        for (;;) {
            from = text_.substr(0, end).find("<!", from);
            if (from == std::string_view::npos) return false;
            const std::string_view rest = text_.substr(from);
            if (rest.starts_with(kSections[0].begin) || rest.starts_with(kSections[1].begin)) {
                return true;
            }
            ++from;
        }
    }

    /// Adds the tag at `at` and returns the offset behind it; behind its '<' if it is none.
    std::size_t take_tag(std::size_t at) {
        const bool closes = text_.substr(at + 1).starts_with('/');
        const std::size_t name = at + (closes ? 2 : 1);
        std::size_t end = name;
        while (end < text_.size() && is_of_name(text_[end])) ++end;
        if (end == name || !is_first_of_name(text_[name])) return at + 1;
        const std::size_t close = text_.find_first_of("<>", end);
        if (close == std::string_view::npos || text_[close] == '<') return at + 1;
        std::string_view rest = text_.substr(end, close - end);
        const bool is_empty = rest.ends_with('/');
        if (is_empty) rest.remove_suffix(1);
        const bool has_more = !trimmed(rest).empty();
        const bool is_separate = trimmed(rest.substr(0, 1)).empty();
        if (!is_separate || (closes && (has_more || is_empty))) return at + 1;
        add({.name = text_.substr(name, end - name),
             .kind = closes     ? XmlTag::Kind::kClosing
                     : is_empty ? XmlTag::Kind::kEmpty
                                : XmlTag::Kind::kOpening,
             .begin = at,
             .end = close + 1});
        return close + 1;
    }

    /// Adds a tag; one that closes an element is the partner of the last one that opens one of its
    /// name. An element never contains another one of its name.
    void add(XmlTag tag) {
        if (tag.kind == XmlTag::Kind::kOpening) open_[tag.name] = tags_.size();
        if (tag.kind == XmlTag::Kind::kClosing) {
            const auto opening = open_.find(tag.name);
            if (opening != open_.end()) {
                tags_[opening->second].partner = tags_.size();
                open_.erase(opening);
            }
        }
        tags_.push_back(tag);
    }

    static bool is_first_of_name(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }
    static bool is_of_name(char c) {
        return is_first_of_name(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
    }

    const std::string_view text_;
    std::vector<XmlTag> tags_;
    std::unordered_map<std::string_view, std::size_t> open_;  ///< the last of each name
    std::array<std::size_t, kSections.size()> ends_{};        ///< that were found last
};

/// An escape that begins `text`: its length and what it stands for. BOINC's programs write each
/// byte of a character that is not ASCII as a number of its own: "&#195;&#169;" is an é.
std::optional<std::pair<std::size_t, char>> escape_in(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, char>, 5> kEscapes{
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
    for (const auto& [escape, character] : kEscapes) {
        if (text.starts_with(escape)) return std::pair{escape.size(), character};
    }
    if (!text.starts_with("&#")) return std::nullopt;
    unsigned char byte = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data() + 2, end, byte);
    if (failure != std::errc{} || rest == end || *rest != ';' || byte == 0) return std::nullopt;
    return std::pair{static_cast<std::size_t>(rest + 1 - text.data()), static_cast<char>(byte)};
}

std::string resolve_escapes(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto [length, character] =
            escape_in(text).value_or(std::pair{std::size_t{1}, text.front()});
        out += character;
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace

XmlReader::XmlReader(std::string_view text) : text_(text), tags_(TagScanner{text}.scan()) {}

std::optional<XmlElement> XmlReader::next() {
    while (at_ < tags_.size()) {
        const XmlTag& tag = tags_[at_];
        if (tag.kind == XmlTag::Kind::kEmpty) {
            ++at_;
            return XmlElement{tag.name, {}, text_.substr(tag.begin, tag.end - tag.begin)};
        }
        if (tag.partner != 0) {
            const XmlTag& closing = tags_[tag.partner];
            at_ = tag.partner + 1;
            return XmlElement{tag.name, text_.substr(tag.end, closing.begin - tag.end),
                              text_.substr(tag.begin, closing.end - tag.begin)};
        }
        skip_lost();
    }
    return std::nullopt;
}

/// Skips a tag without its other half. If it opens an element, and the next one of its kind closes
/// one, the two are the tags of one element, one of them damaged: all between them is lost too.
void XmlReader::skip_lost() {
    const XmlTag& lost = tags_[at_++];
    lost_.push_back(lost.name);
    if (lost.kind == XmlTag::Kind::kClosing) return;
    for (std::size_t i = at_; i < tags_.size();) {
        const XmlTag& tag = tags_[i];
        if (tag.kind == XmlTag::Kind::kEmpty) {
            ++i;
        } else if (tag.partner != 0) {
            i = tag.partner + 1;
        } else {
            if (tag.kind == XmlTag::Kind::kOpening) return;
            lost_.push_back(tag.name);
            at_ = i + 1;
            return;
        }
    }
}

std::optional<XmlElement> find_element(std::string_view text, std::string_view name) {
    XmlReader reader{text};
    while (const auto element = reader.next()) {
        if (element->name == name) return element;
    }
    return std::nullopt;
}

std::string text_value(std::string_view body, std::size_t limit) {
    return clean_text(resolve_escapes(trimmed(body)), limit);
}

std::string clean_text(std::string_view raw, std::size_t limit) {
    const std::string text = valid_text(utf8_of(trimmed(raw)));
    return std::string{trimmed(cut_text(text, limit))};
}

std::optional<double> real_number(std::string_view body) {
    const auto value = parse_number<double>(trimmed(body));
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> whole_number(std::string_view body) {
    const std::string_view digits = trimmed(body);
    const char* const end = digits.data() + digits.size();
    std::int64_t value = 0;
    const auto [rest, failure] = std::from_chars(digits.data(), end, value);
    if (failure != std::errc{}) return std::nullopt;
    // BOINC's programs write some whole numbers with a fraction of zeros.
    const std::string_view fraction{rest, static_cast<std::size_t>(end - rest)};
    const bool is_whole = fraction.empty() || (fraction.front() == '.' &&
                                               fraction.find_first_not_of('0', 1) == fraction.npos);
    return is_whole ? std::optional{value} : std::nullopt;
}

double real_value(std::string_view body) {
    return real_number(body).value_or(0);
}

std::int64_t integer_value(std::string_view body) {
    return whole_number(body).value_or(0);
}

bool flag_value(const XmlElement& element) {
    const std::string_view value = trimmed(element.body);
    return value == "1" || value == "true" || element.whole.ends_with("/>");
}

}  // namespace dedloc::server
