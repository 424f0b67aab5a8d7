// Log lines, one per event, to stderr (BOINC keeps an app's stderr) through spdlog.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace dedloc {

/// How important a line is, ascending.
enum class LogLevel { kInfo, kWarning, kError };

/// Sets the program name that every line begins with and the lowest level that is printed. `main`
/// calls it once.
void start_log(const std::string& program, LogLevel lowest = LogLevel::kInfo);
/// Prints one line. Control characters, which may come from another peer's text, become '?', so one
/// event stays one line. Thread: any.
void log_line(LogLevel level, const std::string& line);

// log_line() with a format string of fmt, one function per level.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
/// A fault outside this process, or one that it recovers from.
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
/// A fault that keeps this process from doing what it was asked for.
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
    log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace dedloc
