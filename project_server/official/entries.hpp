// What `dedloc install` enters into the files of an official project.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "project_server/xml/xml_text.hpp"

namespace dedloc::official {

using server::XmlChild;
using server::XmlPath;
using server::XmlText;

/// The app of trainers, and files; their paths are relative to the project.
inline constexpr const char* kApp = "dedloc_train";
inline constexpr const char* kFolder = "dedloc";  ///< our state, in the project's folder
inline constexpr const char* kApacheFile = "dedloc/dedloc.httpd.conf";  ///< included by Apache
inline constexpr const char* kSettingsFile = "dedloc/settings.xml";     ///< while it is removed
/// Output files of a trainer.
inline constexpr const char* kTemplateFile = "templates/dedloc_train_out";
inline constexpr const char* kConfigFile = "config.xml";      ///< BOINC's, with our elements
inline constexpr const char* kLimitsFile = "config_aux.xml";  ///< BOINC's limits of jobs
inline constexpr const char* kPlanClassFile = "plan_class_spec.xml";  ///< BOINC's plan classes

/// Copied into the project's bin/.
inline constexpr std::array kPrograms{"dedloc",           "dedloc-backbone", "dedloc-credit",
                                      "dedloc-gateway",   "dedloc-purge",    "dedloc-runs",
                                      "dedloc-validator", "dedloc-work"};

/// An entry of config.xml's <daemons> or <tasks>. bin/start runs the command in a folder of the
/// project, so the project is "..".
struct Entry {
    const char* command;      ///< the program and its arguments
    const char* period = "";  ///< the time between two runs of a task; empty: a daemon
};

/// The official transitioner, feeder, file_deleter and db_purge do what is theirs.
inline constexpr std::array kEntries{
    Entry{.command = "dedloc-gateway --project .."},
    Entry{.command = "dedloc-runs --project .."},
    Entry{.command = "dedloc-work --project .."},
    Entry{.command = "dedloc-validator --project .."},
    Entry{.command = "dedloc-credit --project .."},
    Entry{.command = "dedloc-purge --project .. --keep-jobs --once", .period = "10 min"}};

inline const XmlPath kConfigPath{"boinc", "config"};
inline const XmlPath kDaemonsPath{"boinc", "daemons"};
inline const XmlPath kTasksPath{"boinc", "tasks"};
inline const XmlPath kPlanClassesPath{"plan_classes"};
inline const XmlPath kLimitsPath{"config", "max_jobs_in_progress"};

/// The program of a command line: "dedloc-work" of "../bin/dedloc-work --project ..".
inline std::string program_of(std::string_view command) {
    const auto word = command.substr(0, command.find_first_of(" \t\r\n"));
    const auto slash = word.rfind('/');
    return std::string{slash == std::string_view::npos ? word : word.substr(slash + 1)};
}

/// Whether a <daemon> or <task> is one of ours.
inline bool is_of_ours(const XmlChild& entry) {
    return program_of(entry.field("cmd")).starts_with("dedloc-");
}

/// Whether an element of <config> is one of ours.
inline bool is_setting(const XmlChild& element) {
    return element.name.starts_with("dedloc_");
}

}  // namespace dedloc::official
