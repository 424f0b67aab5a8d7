// POSIX calls that the sources of this folder share. Private to it.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "peer/base/error.hpp"

namespace dedloc::platform {

/// Throws IoError "cannot `what` `path`: ..." with the message of the errno `code`.
[[noreturn]] inline void fail(std::string_view what, const std::filesystem::path& path, int code) {
    throw IoError(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(code)));
}

/// Throws for a file that cannot be read. A path that names no readable file is a wrong argument or
/// configuration (InputError); anything else is a failure of the machine (IoError).
[[noreturn]] inline void fail_to_read(const std::filesystem::path& path, int code) {
    const bool is_wrong_path = code == ENOENT || code == ENOTDIR || code == EISDIR ||
                               code == EACCES || code == ELOOP || code == ENAMETOOLONG;
    if (!is_wrong_path) fail("read", path, code);
    throw InputError(fmt::format("cannot read {}: {}", path.string(), std::strerror(code)));
}

/// open() with O_CLOEXEC, repeated while a signal interrupts it. The descriptor; negative: see
/// errno. `mode` counts if O_CREAT is among the flags.
inline int open_retrying(const std::filesystem::path& path, int flags, mode_t mode = 0) {
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

}  // namespace dedloc::platform
