// POSIX calls with what goes with each of them: the error's sentence, repetition after a signal.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/platform/descriptor.hpp"

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

/// open() with O_CLOEXEC, repeated while a signal interrupts it. Nothing on failure: see errno.
/// `mode` counts if O_CREAT is among the flags.
inline Descriptor try_open(const std::filesystem::path& path, int flags, mode_t mode = 0) {
    int id = -1;
    do {
        id = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (id < 0 && errno == EINTR);
    return Descriptor{id};
}

/// The same, but a failure throws IoError "cannot `what` `path`: ...".
inline Descriptor open_to(std::string_view what, const std::filesystem::path& path, int flags,
                          mode_t mode = 0) {
    Descriptor descriptor = try_open(path, flags, mode);
    if (!descriptor) fail(what, path, errno);
    return descriptor;
}

}  // namespace dedloc::platform
