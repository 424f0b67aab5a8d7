// Log lines: one per event, to stderr (BOINC keeps an app's stderr). Through spdlog.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace dedloc {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// `program` starts every line; called once by main.
void start_log(const std::string& program, LogLevel lowest = LogLevel::kInfo);
/// Control characters, which a stranger may have put into `line`, become '?': one event, one line.
/// Thread: any.
void log_line(LogLevel level, const std::string& line);

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace dedloc
