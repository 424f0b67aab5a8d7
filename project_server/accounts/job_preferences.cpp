#include "project_server/accounts/job_preferences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dedloc::server {
namespace {

constexpr const char* kJobRoot = "project_preferences";

/// The elements of the general part or of a venue: ours as values, the others rewritten.
struct Part {
    JobPreferences jobs;
    std::string others;
};

Part part_of(const std::vector<XmlElement>& elements) {
    Part part;
    for (const XmlElement& element : elements) {
        if (element.name == "resource_share") {
            part.jobs.resource_share = static_cast<int>(
                std::clamp<std::int64_t>(integer_value(element.body), 0, kMaxShare));
        } else if (element.name == "no_cpu") {
            part.jobs.uses_processor = !flag_value(element);
        } else if (element.name == "no_cuda") {
            part.jobs.uses_nvidia_gpu = !flag_value(element);
        } else {
            part.others += rewritten(element);
        }
    }
    return part;
}

std::string text_of(const JobPreferences& jobs, const std::string& others) {
    return fmt::format(
        "<resource_share>{}</resource_share>\n<no_cpu>{}</no_cpu>\n<no_cuda>{}</no_cuda>\n{}",
        jobs.resource_share, jobs.uses_processor ? 0 : 1, jobs.uses_nvidia_gpu ? 0 : 1, others);
}

}  // namespace

ProjectChoices parse_choices(std::string_view text) {
    const PreferenceText parts = split_preferences(text, kJobRoot);
    ProjectChoices choices{.general = part_of(parts.general).jobs, .venues = {}};
    for (const auto& [venue, elements] : parts.venues) {
        choices.venues[venue] = part_of(elements).jobs;
    }
    return choices;
}

std::string with_choices(std::string_view text, const ProjectChoices& choices) {
    const PreferenceText parts = split_preferences(text, kJobRoot);
    const std::string general = part_of(parts.general).others;
    std::string out = fmt::format("<{}>\n{}", kJobRoot, text_of(choices.general, general));
    for (const auto& [venue, jobs] : choices.venues) {
        // A new venue begins with what the app's own preferences are in general.
        const auto old = parts.venues.find(venue);
        const bool is_new = old == parts.venues.end();
        out += fmt::format("<venue name=\"{}\">\n{}</venue>\n", venue,
                           text_of(jobs, is_new ? general : part_of(old->second).others));
    }
    return out + fmt::format("</{}>", kJobRoot);
}

}  // namespace dedloc::server
