// Whole files: read with a limit, and replaced so that a crash at any moment leaves the old or the
// new contents, never a mixture. Every call either does what it says or throws IoError with one
// sentence that names the file and the reason.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc::platform {

/// Largest text file that read_text() accepts by default.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

/// Permissions of a new file, before the umask.
inline constexpr mode_t kPublicFile = 0644;
inline constexpr mode_t kSecretFile = 0600;

/// The whole file.
/// Errors: IoError (cannot be read), InputError (has more than `limit` bytes).
Buffer read_file(const std::filesystem::path& path, std::size_t limit);
/// The same as text.
std::string read_text(const std::filesystem::path& path, std::size_t limit = kMaxTextBytes);

/// Replaces `path` durably: writes a temporary file beside it (`path` + ".tmp"), syncs it, renames
/// it to `path` and syncs the folder. After a crash or a full disk `path` holds all of the new
/// bytes or what it held before. Errors: IoError.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  mode_t mode = kPublicFile);
/// The same for contents that lie in several pieces, written one after the other.
void replace_file(const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> pieces, mode_t mode = kPublicFile);
/// The same for text.
void replace_file(const std::filesystem::path& path, std::string_view text,
                  mode_t mode = kPublicFile);

/// Waits until the disk has the contents of a file. Errors: IoError.
void sync_file(const std::filesystem::path& path);

/// Makes a finished file appear under its final name, durably: rename, then sync of the folder. The
/// contents must be on the disk already. Errors: IoError.
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Makes the entry of this file in its folder durable, also that it has been removed.
/// Errors: IoError.
void sync_folder_of(const std::filesystem::path& path);

/// Writes all of `bytes` to a descriptor, across interruptions and partial writes. False, with
/// errno set, if that failed.
bool write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace dedloc::platform
