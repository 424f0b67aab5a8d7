// When and how much a user's computers compute, for all BOINC projects: in general, and for
// computers of a venue (home, school, work). It is BOINC's <global_preferences> in
// user.global_prefs. The scheduler sends it to clients and takes it from them: the newest
// <mod_time> wins.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// One preference.
struct ComputingField {
    const char* group;     ///< heading above it in the form
    const char* name;      ///< BOINC's element
    const char* label;     ///< for the user, with the unit
    double usual;          ///< what BOINC's clients do without it
    double min;            ///< in the unit of the label
    double max;            ///< in the unit of the label
    bool is_flag = false;  ///< 0 or 1, shown as a box to tick
    double scale = 1;      ///< the element's value is that of the form times this
};
/// The fields of the form, in its order.
inline constexpr std::array kComputingFields{
    ComputingField{"While the computer is in use", "run_if_user_active", "Compute", 1, 0, 1, true},
    ComputingField{"While the computer is in use", "run_gpu_if_user_active", "Compute on GPUs", 0,
                   0, 1, true},
    ComputingField{"While the computer is in use", "idle_time_to_run",
                   "Minutes without input after which it is not in use any more", 3, 1, 9'999},
    ComputingField{"While the computer is in use", "ram_max_used_busy_pct", "Memory, at most (%)",
                   50, 1, 100},
    ComputingField{"While the computer is not in use", "ram_max_used_idle_pct",
                   "Memory, at most (%)", 90, 1, 100},
    ComputingField{"Processors", "max_ncpus_pct", "Processors, at most (%)", 100, 1, 100},
    ComputingField{"Processors", "cpu_usage_limit", "Processor time, at most (%)", 100, 1, 100},
    ComputingField{"Processors", "suspend_cpu_usage",
                   "Pause while other programs use more of the processors than (%, 0: never)", 25,
                   0, 100},
    ComputingField{"Processors", "run_on_batteries", "Compute on battery power", 0, 0, 1, true},
    ComputingField{"Processors", "leave_apps_in_memory", "Leave paused tasks in memory", 0, 0, 1,
                   true},
    ComputingField{"Processors", "start_hour", "Compute from (hour)", 0, 0, 24},
    ComputingField{"Processors", "end_hour", "Compute until (hour; as above: always)", 0, 0, 24},
    ComputingField{"Network", "max_bytes_sec_down", "Download, at most (KB a second, 0: no limit)",
                   0, 0, 9'999'999, false, 1024},
    ComputingField{"Network", "max_bytes_sec_up", "Upload, at most (KB a second, 0: no limit)", 0,
                   0, 9'999'999, false, 1024},
    ComputingField{"Network", "daily_xfer_limit_mb", "Transfers, at most (MB, 0: no limit)", 0, 0,
                   9'999'999},
    ComputingField{"Network", "daily_xfer_period_days", "That limit is for so many days", 0, 0,
                   9'999},
    ComputingField{"Network", "net_start_hour", "Transfer files from (hour)", 0, 0, 24},
    ComputingField{"Network", "net_end_hour", "Transfer files until (hour; as above: always)", 0, 0,
                   24},
    ComputingField{"Disk", "disk_max_used_gb", "BOINC's files, at most (GB, 0: no limit)", 0, 0,
                   1'000'000},
    ComputingField{"Disk", "disk_max_used_pct", "BOINC's files, at most (% of the disk)", 90, 0,
                   100},
    ComputingField{"Disk", "disk_min_free_gb", "Leave free (GB)", 1, 0, 1'000'000},
    ComputingField{"Disk", "vm_max_used_pct", "Swap space, at most (%)", 75, 1, 100},
    ComputingField{"Disk", "disk_interval", "Seconds between two checkpoints, at least", 60, 0,
                   9'999'999},
    ComputingField{"Tasks", "work_buf_min_days", "Days of tasks in store, at least", 0.1, 0, 10},
    ComputingField{"Tasks", "work_buf_additional_days", "Days of tasks in store beyond that", 0.5,
                   0, 10},
    ComputingField{"Tasks", "cpu_scheduling_period_minutes",
                   "Minutes between two changes from one project to another", 60, 1, 9'999}};

/// One value for each of kComputingFields, in the unit of its label; 0 or 1 for a flag.
using ComputingValues = std::array<double, kComputingFields.size()>;
/// The usual values.
ComputingValues usual_computing();

/// Those of an account.
struct ComputingChoices {
    ComputingValues general = usual_computing();    ///< where no venue has its own
    std::map<std::string, ComputingValues> venues;  ///< venues that have their own
    bool operator==(const ComputingChoices&) const = default;
};

/// Reads a text with a <global_preferences> element, from a client perhaps; the usual value where
/// something is absent or out of bounds. Of several elements of one name the last counts, as for
/// clients.
ComputingChoices parse_computing_choices(std::string_view text);

/// The text with other values for `venue` ("": in general), or without those of that venue
/// (nothing), and with a <mod_time> that is newer than before. Other elements are rewritten
/// (preference_text.hpp), such as the hours of single days that a client has chosen.
std::string with_computing(std::string_view text, const std::string& venue,
                           const std::optional<ComputingValues>& values, std::int64_t now);

}  // namespace dedloc::server
