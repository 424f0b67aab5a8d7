#include "project_server/accounts/computing_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>

#include "project_server/accounts/job_preferences.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kRoot = "global_preferences";
constexpr std::size_t kMaxText = 60'000;  ///< bytes; the column is a blob of 65,535
constexpr double kLatest = 4e9;           ///< a later <mod_time> is not believed

double number_in(std::string_view text, double otherwise) {
    double number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && std::isfinite(number) ? number : otherwise;
}

/// BOINC's elements are on lines of their own, with blanks around their text perhaps.
std::string_view trimmed(const char* text) {
    std::string_view rest{text};
    while (!rest.empty() && std::string_view{" \t\r\n"}.find(rest.front()) != rest.npos) {
        rest.remove_prefix(1);
    }
    return rest;
}

double value_of(const pugi::xml_node& part, const ComputingField& field) {
    const auto element = part.child(field.name);
    if (!element) return field.usual;
    const auto text = trimmed(element.text().get());
    if (field.is_flag) return text.empty() || number_in(text, 0) != 0 ? 1 : 0;
    const double value = number_in(text, field.usual * field.scale) / field.scale;
    return value >= field.least && value <= field.most ? value : field.usual;
}

ComputingValues values_of(const pugi::xml_node& part) {
    ComputingValues values{};
    std::ranges::transform(kComputingFields, values.begin(),
                           [&](const ComputingField& field) { return value_of(part, field); });
    return values;
}

/// Replaces an element's text, or adds the element before the venues: clients read no further than
/// the venue of their computer.
void set(pugi::xml_node part, const char* name, const std::string& text) {
    auto element = part.child(name);
    while (const auto more = element.next_sibling(name)) part.remove_child(more);
    if (!element) {
        const auto venue = part.child("venue");
        element = venue ? part.insert_child_before(name, venue) : part.append_child(name);
    }
    element.remove_children();
    element.append_child(pugi::node_pcdata).set_value(text.c_str());
}

void set(pugi::xml_node part, const ComputingValues& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& field = kComputingFields[i];
        set(part, field.name, fmt::format("{}", values[i] * field.scale));
    }
}

/// Fills empty elements, because BOINC's parsers do not know the blank in "<name />", which pugixml
/// writes. Elements deeper than BOINC's are deleted.
void fill_empty_elements(pugi::xml_node part, int depth = 0) {
    constexpr int kDeepest = 4;
    for (auto child : part.children()) {
        if (child.type() != pugi::node_element) continue;
        if (depth == kDeepest) child.remove_children();
        if (!child.first_child()) child.append_child(pugi::node_pcdata).set_value("1");
        fill_empty_elements(child, depth + 1);
    }
}

pugi::xml_node venue_of(const pugi::xml_node& root, const std::string& venue) {
    return root.find_child_by_attribute("venue", "name", venue.c_str());
}

/// The element <global_preferences>, empty if the text is not well-formed.
pugi::xml_node load(pugi::xml_document& document, std::string_view text) {
    const bool is_read = document.load_buffer(text.data(), text.size());
    if (!is_read || !document.child(kRoot)) {
        document.reset();
        document.append_child(kRoot);
    }
    return document.child(kRoot);
}

}  // namespace

ComputingValues usual_computing() {
    ComputingValues values{};
    std::ranges::transform(kComputingFields, values.begin(), &ComputingField::usual);
    return values;
}

ComputingChoices parse_computing_choices(std::string_view text) {
    pugi::xml_document document;
    const auto root = load(document, text);
    ComputingChoices choices{.general = values_of(root), .venues = {}};
    for (const char* const venue : kVenues) {
        if (const auto part = venue_of(root, venue)) choices.venues[venue] = values_of(part);
    }
    return choices;
}

std::string with_computing(std::string_view text, const std::string& venue,
                           const std::optional<ComputingValues>& values, std::int64_t now) {
    pugi::xml_document document;
    auto root = load(document, text);
    const double before = number_in(trimmed(root.child("mod_time").text().get()), 0);
    const double next = before < kLatest ? std::floor(before) + 1 : 0;
    if (venue.empty()) {
        set(root, values.value_or(usual_computing()));
    } else if (values) {
        auto part = venue_of(root, venue);
        if (!part) {
            part = root.append_child("venue");
            part.append_attribute("name").set_value(venue.c_str());
        }
        set(part, *values);
    } else {
        while (root.remove_child(venue_of(root, venue))) {
        }
    }
    set(root, "mod_time", fmt::format("{:.0f}", std::max(static_cast<double>(now), next)));
    fill_empty_elements(root);
    std::ostringstream out;
    root.print(out, "", pugi::format_indent);
    return out.str();
}

ComputingChoices read_computing_choices(Database& database, std::int64_t user) {
    const auto row = database.query_one("select global_prefs from user where id = ?", {user});
    return row ? parse_computing_choices(row->text("global_prefs")) : ComputingChoices{};
}

Refusal choose_computing(Database& database, std::int64_t user, const std::string& venue,
                         const std::optional<ComputingValues>& values, std::int64_t now) {
    if (!is_venue(venue)) return "There is no such venue.";
    for (std::size_t i = 0; values && i < values->size(); ++i) {
        const auto& field = kComputingFields[i];
        if (!((*values)[i] >= field.least && (*values)[i] <= field.most)) {
            return fmt::format("{}: {} is a number from {} to {}.", field.group, field.label,
                               field.least, field.most);
        }
    }
    return in_transaction(database, [&]() -> Refusal {
        const auto row =
            database.query_one("select global_prefs from user where id = ? for update", {user});
        if (!row) return "There is no such account.";
        const std::string text = with_computing(row->text("global_prefs"), venue, values, now);
        if (text.size() > kMaxText) return "These preferences are too long.";
        database.execute("update user set global_prefs = ? where id = ?", {text, user});
        return std::nullopt;
    });
}

}  // namespace dedloc::server
