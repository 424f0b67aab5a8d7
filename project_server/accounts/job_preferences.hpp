// Which jobs a user wants: in general, and for computers of a venue (home, school, work). It is
// BOINC's <project_preferences> in user.project_prefs, which the scheduler sends to clients; both
// follow the <venue> element of a computer's venue, if there is one, instead of the rest.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "project_server/accounts/preference_text.hpp"

namespace dedloc::server {

/// The largest resource share that BOINC knows.
inline constexpr int kMaxShare = 10'000;

/// The jobs that a computer is to get.
struct JobPreferences {
    int resource_share = 100;     ///< BOINC's: 0 to 10,000, relative to other projects
    bool uses_processor = true;   ///< jobs for processors are wanted
    bool uses_nvidia_gpu = true;  ///< jobs for NVIDIA GPUs are wanted
    bool operator==(const JobPreferences&) const = default;
};

/// Those of an account.
struct ProjectChoices {
    JobPreferences general;                        ///< where no venue has its own
    std::map<std::string, JobPreferences> venues;  ///< venues that have their own
    bool operator==(const ProjectChoices&) const = default;
};

/// Reads a text with a <project_preferences> element; defaults where something is absent.
ProjectChoices parse_choices(std::string_view text);

/// The text with these choices. Elements that are not ours, the app's own <project_specific> above
/// all, are rewritten (preference_text.hpp), also in the venues that stay.
std::string with_choices(std::string_view text, const ProjectChoices& choices);

}  // namespace dedloc::server
