// What volunteers have chosen: the computing preferences that a client follows, and the preferences
// of an account for this project, which may differ by venue (home, work, school). The XML comes
// from clients and from the web pages.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "project_server/xml/xml.hpp"

namespace dedloc::server {

/// BOINC's venues.
inline constexpr std::array<const char*, 3> kVenues{"home", "school", "work"};

/// The parts of <global_preferences> that matter for the choice of jobs.
struct ComputingPreferences {
    double modified = 0;           ///< <mod_time>, Unix time; 0: unknown
    double cpu_fraction = 1;       ///< share of the processors that BOINC may use, 0 to 1
    double busy_ram_fraction = 1;  ///< share of memory that it may use while the computer is in use
    double idle_ram_fraction = 1;  ///< the same while it is not
    /// The larger of both: a job that needs so much can run at least some of the time.
    double ram_fraction() const;
};

/// Parses a text with a <global_preferences> element; defaults where a field is absent.
ComputingPreferences parse_computing_preferences(std::string_view text);

/// The preferences of an account for this project.
struct ProjectPreferences {
    bool allows_cpu = true;     ///< no <no_cpu>
    bool allows_nvidia = true;  ///< no <no_cuda>
    std::int64_t max_cpus = 0;  ///< most processors for one job; 0: no limit
};

/// The name in the tag of a <venue name="…"> element; empty if it is another element.
std::string_view name_of_venue(const XmlElement& element);

/// Parses a <project_preferences> element. A <venue> element with the name of the host's venue
/// replaces the general ones as a whole, as in BOINC's server.
ProjectPreferences parse_project_preferences(std::string_view text, std::string_view venue);

}  // namespace dedloc::server
