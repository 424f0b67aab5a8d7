#include "project_server/accounts/preference_text.hpp"

#include <algorithm>

#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "project_server/scheduler/preferences.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxManaged = 16 * 1024;  ///< bytes of what a manager may send
constexpr int kMaxDepth = 3;                    ///< BOINC's own are one level deep (<day_prefs>)
constexpr const char* kSpecific = "project_specific";
constexpr const char* kVenue = "venue";

bool is_element_name(std::string_view name) {
    return is_made_of_letters(name, "_") && name.size() <= 64 &&
           !(name.front() >= '0' && name.front() <= '9');
}

std::string in_tags(std::string_view name, const std::string& inside) {
    return '<' + std::string{name} + '>' + inside + "</" + std::string{name} + ">\n";
}

/// rewritten() with elements in it up to `depth` levels deep.
std::string rewritten(const XmlElement& element, int depth) {
    if (!is_element_name(element.name) || element.name == kVenue) return {};
    if (element.whole.ends_with("/>") && element.body.empty()) {
        return '<' + std::string{element.name} + "/>\n";
    }
    if (element.body.find('<') == std::string_view::npos) {
        const std::string text = text_value(element.body, element.body.size());
        return in_tags(element.name, escape_markup(text));
    }
    std::string inside;
    XmlReader reader{element.body};
    while (const auto inner = depth > 0 ? reader.next() : std::nullopt) {
        inside += rewritten(*inner, depth - 1);
    }
    return inside.empty() ? std::string{} : in_tags(element.name, '\n' + inside);
}

std::vector<XmlElement> elements_of(std::string_view body) {
    std::vector<XmlElement> elements;
    XmlReader reader{body};
    while (const auto element = reader.next()) {
        if (element->name != kVenue) elements.push_back(*element);
    }
    return elements;
}

}  // namespace

bool is_venue(std::string_view venue) {
    return venue.empty() || std::ranges::find(kVenues, venue) != kVenues.end();
}

PreferenceText split_preferences(std::string_view text, std::string_view root) {
    PreferenceText parts;
    const auto whole = find_element(text, root);
    if (!whole) return parts;
    parts.general = elements_of(whole->body);
    XmlReader reader{whole->body};
    while (const auto element = reader.next()) {
        const std::string venue{name_of_venue(*element)};
        if (venue.empty() || !is_venue(venue) || parts.venues.contains(venue)) continue;
        parts.venues.emplace(venue, elements_of(element->body));
    }
    return parts;
}

std::string rewritten(const XmlElement& element) {
    return rewritten(element, kMaxDepth);
}

std::optional<std::string> managed_preferences(std::string_view text, std::string_view root,
                                               std::string_view stored) {
    const auto whole = find_element(text, root);
    if (text.size() > kMaxManaged || !whole) return std::nullopt;
    // They replace the account's, so a damaged element would remove one of these.
    XmlReader reader{whole->body};
    while (reader.next()) continue;
    if (!reader.lost().empty()) return std::nullopt;
    std::string inside = "\n";
    for (const XmlElement& element : split_preferences(text, root).general) {
        if (element.name != kSpecific) inside += rewritten(element, 0);
    }
    for (const XmlElement& element : split_preferences(stored, root).general) {
        if (element.name == kSpecific) inside += rewritten(element);
    }
    std::string out = in_tags(root, inside);
    out.pop_back();  // the line end
    return out.size() <= kMaxPreferences ? std::optional{std::move(out)} : std::nullopt;
}

}  // namespace dedloc::server
