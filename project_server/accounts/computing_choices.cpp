// preference_text.hpp splits the text into the elements in general and those of each venue. Reading
// looks each element up in kComputingFields; one that is unknown or has elements inside is ignored,
// and a value out of bounds becomes the usual one. Writing replaces the known elements of one part
// and rewrites all others. The new <mod_time> is greater than the old one even if this clock is
// behind, unless the old one is absurd. Venues come last, because clients stop reading at theirs.
#include "project_server/accounts/computing_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "project_server/accounts/preference_text.hpp"
#include "project_server/scheduler/preferences.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kComputingRoot = "global_preferences";
constexpr const char* kModified = "mod_time";
constexpr double kLatest = 4e9;  ///< a later <mod_time> is not believed

double number_in(const std::string& text, double otherwise) {
    double number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && std::isfinite(number) ? number : otherwise;
}

double value_of(const XmlElement& element, const ComputingField& field) {
    const std::string text = text_value(element.body);
    if (field.is_flag) return text.empty() || number_in(text, 0) != 0 ? 1 : 0;
    const double value = number_in(text, field.usual * field.scale) / field.scale;
    return value >= field.min && value <= field.max ? value : field.usual;
}

/// Position in kComputingFields; their number if the element is none of them, or has elements.
std::size_t field_of(const XmlElement& element) {
    if (element.body.find('<') != std::string_view::npos) return kComputingFields.size();
    const auto found = std::ranges::find_if(
        kComputingFields, [&](const ComputingField& field) { return element.name == field.name; });
    return static_cast<std::size_t>(found - kComputingFields.begin());
}

ComputingValues values_of(const std::vector<XmlElement>& elements) {
    ComputingValues values = usual_computing();
    for (const XmlElement& element : elements) {
        const std::size_t i = field_of(element);
        if (i < values.size()) values[i] = value_of(element, kComputingFields[i]);
    }
    return values;
}

/// The part's elements, with other values if there are any.
std::string text_of(const std::vector<XmlElement>& elements,
                    const std::optional<ComputingValues>& values) {
    std::string out;
    for (const XmlElement& element : elements) {
        const bool is_replaced = values && field_of(element) < values->size();
        if (!is_replaced && element.name != kModified) out += rewritten(element);
    }
    for (std::size_t i = 0; values && i < values->size(); ++i) {
        const auto& field = kComputingFields[i];
        out += fmt::format("<{0}>{1}</{0}>\n", field.name, (*values)[i] * field.scale);
    }
    return out;
}

}  // namespace

ComputingValues usual_computing() {
    ComputingValues values{};
    std::ranges::transform(kComputingFields, values.begin(), &ComputingField::usual);
    return values;
}

ComputingChoices parse_computing_choices(std::string_view text) {
    const PreferenceText parts = split_preferences(text, kComputingRoot);
    ComputingChoices choices{.general = values_of(parts.general), .venues = {}};
    for (const auto& [venue, elements] : parts.venues) choices.venues[venue] = values_of(elements);
    return choices;
}

std::string with_computing(std::string_view text, const std::string& venue,
                           const std::optional<ComputingValues>& values, std::int64_t now) {
    PreferenceText parts = split_preferences(text, kComputingRoot);
    const double before = parse_computing_preferences(text).modified;
    const double next = before <= kLatest ? std::floor(before) + 1 : 0;
    const auto changed = [&](const std::string& part) {
        if (part != venue) return std::optional<ComputingValues>{};
        return std::optional{values.value_or(usual_computing())};
    };
    if (values && !venue.empty()) parts.venues.try_emplace(venue);
    if (!values) parts.venues.erase(venue);
    std::string out =
        fmt::format("<{0}>\n<{1}>{2:.0f}</{1}>\n{3}", kComputingRoot, kModified,
                    std::max(static_cast<double>(now), next), text_of(parts.general, changed("")));
    // Last, because clients read no further than the venue of their computer.
    for (const auto& [name, elements] : parts.venues) {
        out += fmt::format("<venue name=\"{}\">\n{}</venue>\n", name,
                           text_of(elements, changed(name)));
    }
    return out + fmt::format("</{}>\n", kComputingRoot);
}

}  // namespace dedloc::server
