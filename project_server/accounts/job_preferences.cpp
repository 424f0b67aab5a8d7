#include "project_server/accounts/job_preferences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "project_server/scheduler/preferences.hpp"
#include "project_server/scheduler/xml.hpp"

namespace dedloc::server {
namespace {

constexpr int kMaxShare = 10'000;
constexpr std::size_t kMaxText = 60'000;  ///< bytes; the column is a blob of 65,535

/// The elements of the general part or of a venue: ours as values, the others as they are.
struct Part {
    JobPreferences jobs;
    std::string others;  ///< each on a line
};

Part part_of(std::string_view body) {
    Part part;
    XmlReader reader{body};
    while (const auto element = reader.next()) {
        if (element->name == "resource_share") {
            part.jobs.resource_share = static_cast<int>(
                std::clamp<std::int64_t>(integer_value(element->body), 0, kMaxShare));
        } else if (element->name == "no_cpu") {
            part.jobs.uses_processor = !flag_value(*element);
        } else if (element->name == "no_cuda") {
            part.jobs.uses_nvidia_gpu = !flag_value(*element);
        } else if (element->name != "venue") {
            part.others += std::string{element->whole} + '\n';
        }
    }
    return part;
}

/// The parts by venue, "" for the general one. Venues that BOINC does not have are left out.
std::map<std::string, Part> parts_of(std::string_view text) {
    std::map<std::string, Part> parts;
    parts.try_emplace("");
    const auto root = find_element(text, "project_preferences");
    if (!root) return parts;
    parts[""] = part_of(root->body);
    XmlReader reader{root->body};
    while (const auto element = reader.next()) {
        const std::string name{name_of_venue(*element)};
        if (!name.empty() && is_venue(name)) parts[name] = part_of(element->body);
    }
    return parts;
}

std::string text_of(const JobPreferences& jobs, const std::string& others) {
    return fmt::format(
        "<resource_share>{}</resource_share>\n<no_cpu>{}</no_cpu>\n<no_cuda>{}</no_cuda>\n{}",
        jobs.resource_share, jobs.uses_processor ? 0 : 1, jobs.uses_nvidia_gpu ? 0 : 1, others);
}

}  // namespace

bool is_venue(std::string_view venue) {
    return venue.empty() || std::ranges::find(kVenues, venue) != kVenues.end();
}

ProjectChoices parse_choices(std::string_view text) {
    ProjectChoices choices;
    for (const auto& [venue, part] : parts_of(text)) {
        (venue.empty() ? choices.general : choices.venues[venue]) = part.jobs;
    }
    return choices;
}

std::string with_choices(std::string_view text, const ProjectChoices& choices) {
    std::map<std::string, Part> parts = parts_of(text);
    const std::string general = parts[""].others;
    std::string out = "<project_preferences>\n" + text_of(choices.general, general);
    for (const auto& [venue, jobs] : choices.venues) {
        // A new venue begins with what the app's own preferences are in general.
        const auto old = parts.find(venue);
        out += fmt::format("<venue name=\"{}\">\n{}</venue>\n", venue,
                           text_of(jobs, old == parts.end() ? general : old->second.others));
    }
    return out + "</project_preferences>";
}

ProjectChoices read_choices(Database& database, std::int64_t user) {
    const auto row = database.query_one("select project_prefs from user where id = ?", {user});
    return row ? parse_choices(row->text("project_prefs")) : ProjectChoices{};
}

Refusal choose_jobs(Database& database, std::int64_t user, const std::string& venue,
                    const std::optional<JobPreferences>& jobs) {
    if (!is_venue(venue)) return "There is no such venue.";
    if (jobs && (jobs->resource_share < 0 || jobs->resource_share > kMaxShare)) {
        return fmt::format("The resource share is a number from 0 to {}.", kMaxShare);
    }
    return in_transaction(database, [&]() -> Refusal {
        const auto row =
            database.query_one("select project_prefs from user where id = ? for update", {user});
        if (!row) return "There is no such account.";
        ProjectChoices choices = parse_choices(row->text("project_prefs"));
        if (venue.empty()) {
            choices.general = jobs.value_or(JobPreferences{});
        } else if (jobs) {
            choices.venues[venue] = *jobs;
        } else {
            choices.venues.erase(venue);
        }
        const std::string text = with_choices(row->text("project_prefs"), choices);
        if (text.size() > kMaxText) return "These preferences are too long.";
        database.execute("update user set project_prefs = ? where id = ?", {text, user});
        return std::nullopt;
    });
}

Refusal set_venue(Database& database, std::int64_t user, std::int64_t host,
                  const std::string& venue) {
    if (!is_venue(venue)) return "There is no such venue.";
    database.execute("update host set venue = ? where id = ? and userid = ?", {venue, host, user});
    return std::nullopt;
}

}  // namespace dedloc::server
