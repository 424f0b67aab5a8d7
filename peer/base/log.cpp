// One spdlog logger for the process, replaced once by start_log(). Lines of level info and above
// are flushed at once, so that a crash does not lose them. The line is passed to spdlog as an
// argument, not as a format: it may contain braces.
#include "peer/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

namespace dedloc {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
    switch (level) {
        case LogLevel::kInfo:
            return spdlog::level::info;
        case LogLevel::kWarning:
            return spdlog::level::warn;
        case LogLevel::kError:
            return spdlog::level::err;
    }
    return spdlog::level::err;
}

}  // namespace

void start_log(const std::string& program, LogLevel lowest) {
    auto logger = std::make_shared<spdlog::logger>(
        program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    logger->set_level(level_of(lowest));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

void log_line(LogLevel level, const std::string& line) {
    std::string printable = line;
    std::replace_if(
        printable.begin(), printable.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; },
        '?');
    spdlog::default_logger_raw()->log(level_of(level), "{}", printable);
}

}  // namespace dedloc
