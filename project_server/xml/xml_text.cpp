// pugixml parses a copy of the text and tells where each node begins. Where a node ends follows
// from the text: the parse has shown that it is well-formed, and what lies inside an element is
// passed node by node, so tags in comments and CDATA sections are not taken for tags. Elements are
// few and files small, so each operation parses anew.
//
// BOINC's parser reads a value up to the next tag, whichever that is, so a closing tag without its
// slash goes unnoticed there; the sample of plan_class_spec.xml in BOINC's sources has two. In the
// text that is parsed such tags get their slash, and offsets are those in the text without them.
#include "project_server/xml/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/text.hpp"

namespace dedloc::server {
namespace {

constexpr unsigned kParse = pugi::parse_full | pugi::parse_ws_pcdata;
constexpr std::size_t kMaxDepth = 64;

bool is_name(std::string_view text) {
    return !text.empty() && text.find_first_of(" \t\r\n<>/\"'=&!?") == std::string_view::npos;
}

/// Offsets of tags that close `<name>value<name>` without a slash, behind their '<'. Comments and
/// CDATA sections are passed over.
std::vector<std::size_t> missing_slashes(const std::string& text) {
    std::vector<std::size_t> found;
    std::string_view opened;  // the name in the last tag, if that opens an element
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
        const std::string_view rest = std::string_view{text}.substr(at);
        const std::string_view end = rest.starts_with("<!--")        ? "-->"
                                     : rest.starts_with("<![CDATA[") ? "]]>"
                                                                     : ">";
        const auto size = rest.find(end);
        if (size == std::string_view::npos) break;
        const std::string_view name = rest.substr(1, size - 1);
        if (end != ">") {
            opened = {};
        } else if (is_name(name) && name == opened) {
            found.push_back(at + 1);
            opened = {};
        } else {
            opened = is_name(name) ? name : std::string_view{};
        }
        at += size + end.size();
    }
    return found;
}

/// "line N, at <tag>": where a parse has failed.
std::string place_of(const std::string& text, std::size_t offset) {
    constexpr std::size_t kMaxShown = 60;
    const auto before = text.substr(0, std::min(offset, text.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto begin = before.rfind('<');
    if (begin == std::string::npos) return fmt::format("line {}", line);
    const auto end = text.find('>', begin);
    const auto size = end == std::string::npos ? kMaxShown : end + 1 - begin;
    return fmt::format("line {}, at {}", line, text.substr(begin, std::min(size, kMaxShown)));
}

/// A parsed text, and where its nodes begin and end.
class Parsed {
  public:
    Parsed(const std::string& text, const std::string& file) : text_(text) {
        // pugixml reads no further.
        if (text.find('\0') != std::string::npos) {
            throw InputError(fmt::format("{} has a byte 0, which no XML file has", file));
        }
        auto result = parse();
        if (!result) {
            const auto failed =
                fmt::format("{} is not well-formed XML: {} in {}", file, result.description(),
                            place_of(text, static_cast<std::size_t>(result.offset)));
            added_ = missing_slashes(text);
            for (std::size_t i = 0; i < added_.size(); ++i) {
                added_[i] += i;
                text_.insert(added_[i], 1, '/');
            }
            if (!added_.empty()) result = parse();
            if (!result) throw InputError(failed);
        }
        for (const auto& node : document_.children()) {
            if (node.type() == pugi::node_doctype) {
                throw InputError(fmt::format("{} has a DTD, which BOINC does not read", file));
            }
        }
        if (depth(document_) > kMaxDepth) {
            throw InputError(fmt::format("{} has elements nested too deep", file));
        }
    }

    /// The offset in the text as it is; all other offsets of this class are those in the text with
    /// the slashes that were missing.
    std::size_t outside(std::size_t offset) const {
        const auto before = std::ranges::lower_bound(added_, offset);
        return offset - static_cast<std::size_t>(before - added_.begin());
    }

    /// The element at `path`; child() would also find a processing instruction of that name.
    pugi::xml_node find(const XmlPath& path) const {
        pugi::xml_node node = document_;
        for (const auto& name : path) {
            node = node.find_child([&](const pugi::xml_node& child) {
                return child.type() == pugi::node_element && child.name() == name;
            });
        }
        return node;
    }
    std::size_t begin(const pugi::xml_node& element) const {
        return static_cast<std::size_t>(element.offset_debug()) - 1;
    }
    /// Offset behind the '>' of the tag that opens the element.
    std::size_t end_of_tag(const pugi::xml_node& element) const {
        char quote = 0;
        for (std::size_t at = begin(element);; ++at) {
            DEDLOC_CHECK(at < text_.size(), "a parsed element has a tag that ends", at);
            const char c = text_[at];
            if (quote != 0) {
                if (c == quote) quote = 0;
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (c == '>') {
                return at + 1;
            }
        }
    }
    bool is_self_closing(const pugi::xml_node& element) const {
        return text_[end_of_tag(element) - 2] == '/';
    }
    /// Offset of the tag that closes the element, which is not self-closing.
    std::size_t closing_tag(const pugi::xml_node& element) const {
        std::size_t at = end_of_tag(element);
        if (const auto last = element.last_child()) at = end(last);
        return behind("</", at) - 2;
    }
    /// Offset behind the node.
    std::size_t end(const pugi::xml_node& node) const {
        const auto offset = static_cast<std::size_t>(node.offset_debug());
        switch (node.type()) {
            case pugi::node_element:
                if (is_self_closing(node)) return end_of_tag(node);
                return behind(">", closing_tag(node));
            case pugi::node_comment:
                return behind("-->", offset);
            case pugi::node_cdata:
                return behind("]]>", offset);
            case pugi::node_pi:
                return behind("?>", offset);
            default:  // text ends where the next tag begins
                return behind("<", offset) - 1;
        }
    }

  private:
    pugi::xml_parse_result parse() {
        return document_.load_buffer(text_.data(), text_.size(), kParse, pugi::encoding_utf8);
    }
    std::size_t behind(std::string_view mark, std::size_t from) const {
        const auto found = text_.find(mark, from);
        DEDLOC_CHECK(found != std::string::npos, "a parsed node has an end", from);
        return found + mark.size();
    }
    static std::size_t depth(const pugi::xml_node& root) {
        struct Deepest : pugi::xml_tree_walker {
            std::size_t depth_seen = 0;
            bool for_each(pugi::xml_node&) override {
                depth_seen = std::max(depth_seen, static_cast<std::size_t>(depth()));
                return depth_seen <= kMaxDepth;
            }
        } deepest;
        pugi::xml_node(root).traverse(deepest);
        return deepest.depth_seen;
    }

    std::string text_;
    std::vector<std::size_t> added_;  ///< offsets of the slashes in text_
    pugi::xml_document document_;
};

bool is_element(const pugi::xml_node& node) {
    return node.type() == pugi::node_element;
}

XmlChild described(const Parsed& parsed, const pugi::xml_node& element) {
    XmlChild child{.name = element.name(),
                   .text = std::string{trimmed(element.text().get())},
                   .begin = parsed.outside(parsed.begin(element)),
                   .end = parsed.outside(parsed.end(element))};
    for (const auto& field : element.children()) {
        if (is_element(field)) child.fields.emplace(field.name(), trimmed(field.text().get()));
    }
    return child;
}

/// The blanks between the last line end before `at` and `at`; nothing if there is something else.
std::optional<std::string> indentation(const std::string& text, std::size_t at) {
    std::size_t first = at;
    while (first > 0 && (text[first - 1] == ' ' || text[first - 1] == '\t')) --first;
    if (first > 0 && text[first - 1] != '\n') return std::nullopt;
    return text.substr(first, at - first);
}

}  // namespace

std::string XmlChild::field(const std::string& name_of_field) const {
    const auto found = fields.find(name_of_field);
    return found == fields.end() ? std::string{} : found->second;
}

XmlText::XmlText(std::string text, std::string file, std::string root)
    : text_(std::move(text)), file_(std::move(file)), root_(std::move(root)) {
    const Parsed parsed{text_, file_};
    if (!parsed.find({root_})) throw InputError(fmt::format("{} has no <{}>", file_, root_));
}

std::optional<XmlChild> XmlText::find(const XmlPath& path) const {
    const Parsed parsed{text_, file_};
    const auto element = parsed.find(path);
    return element ? std::optional{described(parsed, element)} : std::nullopt;
}

bool XmlText::has(const XmlPath& path) const {
    return static_cast<bool>(Parsed{text_, file_}.find(path));
}

std::string XmlText::empty_form(const XmlPath& path) const {
    const Parsed parsed{text_, file_};
    const auto element = parsed.find(path);
    if (!element || element.first_child()) return {};
    const auto begin = parsed.outside(parsed.begin(element));
    return text_.substr(begin, parsed.outside(parsed.end(element)) - begin);
}

std::vector<XmlChild> XmlText::children(const XmlPath& path) const {
    const Parsed parsed{text_, file_};
    std::vector<XmlChild> children;
    for (const auto& node : parsed.find(path).children()) {
        if (is_element(node)) children.push_back(described(parsed, node));
    }
    return children;
}

void XmlText::append(const XmlPath& path, const std::string& source) {
    const Parsed parsed{text_, file_};
    const auto parent = parsed.find(path);
    DEDLOC_CHECK(static_cast<bool>(parent), "elements are added to an element", path.back());
    const std::string line_end = text_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
    std::string indent =
        indentation(text_, parsed.outside(parsed.begin(parent))).value_or("") + "    ";
    std::size_t at = parsed.end_of_tag(parent);
    for (const auto& node : parent.children()) {
        if (!is_element(node)) continue;
        at = parsed.end(node);
        if (const auto found = indentation(text_, parsed.outside(parsed.begin(node)))) {
            indent = *found;
        }
    }
    std::string lines = line_end + indent;
    for (const char c : source) {
        if (c == '\n') {
            lines += line_end + indent;
        } else {
            lines += c;
        }
    }
    at = parsed.outside(at);
    const std::string before = text_;
    const auto siblings = children(path).size();
    if (parsed.is_self_closing(parent)) {
        const auto slash = parsed.outside(parsed.end_of_tag(parent)) - 2;
        replace(slash, slash + 2, fmt::format(">{}</{}>", lines, path.back()));
    } else {
        replace(at, at, lines);
    }
    // Which tags lack their slash is guessed by their neighbours, which have changed.
    if (children(path).size() == siblings + 1) return;
    text_ = before;
    throw InputError(fmt::format(
        "nothing can be added to <{}> of {}: a tag that closes an element lacks its slash",
        path.back(), file_));
}

std::size_t XmlText::remove(const XmlPath& path,
                            const std::function<bool(const XmlChild&)>& is_chosen) {
    std::size_t count = 0;
    auto all = children(path);
    std::ranges::reverse(all);  // offsets of earlier ones stay
    for (const auto& child : all) {
        if (!is_chosen(child)) continue;
        std::size_t begin = child.begin;
        if (const auto blanks = indentation(text_, begin)) {
            begin -= blanks->size();
            if (begin > 0) --begin;
            if (begin > 0 && text_[begin - 1] == '\r') --begin;
        }
        replace(begin, child.end, "");
        ++count;
    }
    return count;
}

void XmlText::restore(const XmlPath& path, const std::string& form) {
    const Parsed parsed{text_, file_};
    const auto element = parsed.find(path);
    DEDLOC_CHECK(static_cast<bool>(element), "an element that is restored is there", path.back());
    replace(parsed.outside(parsed.begin(element)), parsed.outside(parsed.end(element)), form);
}

void XmlText::replace(std::size_t begin, std::size_t end, const std::string& by) {
    std::string edited = text_;
    edited.replace(begin, end - begin, by);
    const Parsed still_well_formed{edited, file_};
    text_ = std::move(edited);
}

}  // namespace dedloc::server
