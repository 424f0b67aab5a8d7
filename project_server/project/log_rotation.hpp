// Keeps a project's log files small while daemons append to them. NAME.log.1 is the newest old
// part, NAME.log.2 the one before, and so on. The parts together are the log: no line is lost, and
// a kill -9 at any moment can only leave some lines twice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace dedloc::project {

/// Limits of one log.
struct LogLimits {
    std::uint64_t bytes = 8 << 20;  ///< size at which a log is rotated
    int parts = 4;                  ///< old parts that are kept
};

/// Renames the file to its first old part; the program that writes it must then open it again,
/// which `reopen` asks it to do. Nothing happens if the file is small or absent. True if it was
/// rotated. Errors: IoError.
bool rotate_by_renaming(const std::filesystem::path& log, const LogLimits& limits,
                        const std::function<void()>& reopen);

/// Moves the file's contents to its first old part, for a program that keeps the file open and
/// appends to it. On ext4 and XFS the front of the file is cut off while the program goes on
/// writing; other file systems cannot do that, so there the file is emptied, and lines of the
/// microseconds between its last reading and that are lost. The cut may be within a line. Nothing
/// happens if the file is small or absent. True if it was rotated. Errors: IoError.
bool rotate_in_place(const std::filesystem::path& log, const LogLimits& limits);

}  // namespace dedloc::project
