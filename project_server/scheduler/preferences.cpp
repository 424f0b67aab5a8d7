#include "project_server/scheduler/preferences.hpp"

#include <algorithm>

#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

/// A percentage as a share. 0 means "no limit" in BOINC's preferences, and so does a percentage so
/// small that its share is 0.
double share(std::string_view body) {
    const double part = real_value(body) / 100;
    return part <= 0 || part >= 1 ? 1 : part;
}

/// The value of an attribute in the first tag of an element; empty if it has none.
std::string_view attribute(const XmlElement& element, std::string_view name) {
    const std::string_view tag = element.whole.substr(0, element.whole.find('>'));
    const auto at = tag.find(name);
    if (at == std::string_view::npos) return {};
    std::string_view value = tag.substr(at + name.size());
    if (!value.starts_with("=\"")) return {};
    value.remove_prefix(2);
    return value.substr(0, value.find('"'));
}

/// The fields of one venue, or of the account's general preferences.
ProjectPreferences fields_of(std::string_view body) {
    ProjectPreferences preferences;
    XmlReader reader{body};
    while (const auto element = reader.next()) {
        if (element->name == "no_cpu") preferences.allows_cpu = !flag_value(*element);
        if (element->name == "no_cuda") preferences.allows_nvidia = !flag_value(*element);
        if (element->name == "max_cpus") {
            preferences.max_cpus = std::clamp<std::int64_t>(integer_value(element->body), 0, 4096);
        }
    }
    return preferences;
}

}  // namespace

double ComputingPreferences::ram_fraction() const {
    return std::max(busy_ram_fraction, idle_ram_fraction);
}

ComputingPreferences parse_computing_preferences(std::string_view text) {
    ComputingPreferences preferences;
    const auto root = find_element(text, "global_preferences");
    if (!root) return preferences;
    XmlReader reader{root->body};
    while (const auto element = reader.next()) {
        const std::string_view name = element->name;
        if (name == "mod_time") preferences.modified = real_value(element->body);
        if (name == "max_ncpus_pct") preferences.cpu_fraction = share(element->body);
        if (name == "ram_max_used_busy_pct") preferences.busy_ram_fraction = share(element->body);
        if (name == "ram_max_used_idle_pct") preferences.idle_ram_fraction = share(element->body);
    }
    return preferences;
}

std::string_view name_of_venue(const XmlElement& element) {
    return element.name == "venue" ? attribute(element, "name") : std::string_view{};
}

ProjectPreferences parse_project_preferences(std::string_view text, std::string_view venue) {
    const auto root = find_element(text, "project_preferences");
    if (!root) return {};
    XmlReader reader{root->body};
    while (const auto element = reader.next()) {
        if (!venue.empty() && name_of_venue(*element) == venue) return fields_of(element->body);
    }
    return fields_of(root->body);
}

}  // namespace dedloc::server
