// Whole files: read with a limit on their size, and replaced so that a crash at any moment leaves
// either the old or the new contents. Failures are IoError with one sentence that names the file
// and the reason.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc::platform {

/// Largest file that read_text() accepts by default, in bytes.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

/// Permissions of a new file, before the umask.
inline constexpr mode_t kPublicFile = 0644;  ///< readable by all users
inline constexpr mode_t kSecretFile = 0600;  ///< readable by the owner only

/// Reads the whole file.
/// Errors: InputError (no file, a folder, no permission, more than `limit` bytes), IoError (disk).
Buffer read_file(const std::filesystem::path& path, std::size_t limit);
/// Reads the whole file as text. Errors: as read_file().
std::string read_text(const std::filesystem::path& path, std::size_t limit = kMaxTextBytes);

/// Replaces `path` durably: writes a temporary file next to it (`path` + ".tmp"), syncs it, renames
/// it to `path` and syncs the folder. After a crash, or if the disk is full, `path` holds either
/// all new bytes or its former contents. Errors: IoError.
void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  mode_t mode = kPublicFile);
/// The same for contents in several pieces, which are concatenated.
void replace_file(const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> pieces, mode_t mode = kPublicFile);
/// The same for text.
void replace_file(const std::filesystem::path& path, std::string_view text,
                  mode_t mode = kPublicFile);

/// Waits until the contents of a file are on the disk. Errors: IoError.
void sync_file(const std::filesystem::path& path);

/// Gives a finished file its final name, durably: renames it and syncs the folder. Its contents
/// must already be on the disk (sync_file). Errors: IoError.
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file if it is there; a failure is a warning in the log.
void remove_or_warn(const std::filesystem::path& path);

/// Makes the creation, renaming or removal of this file durable by syncing its folder.
/// Errors: IoError.
void sync_folder_of(const std::filesystem::path& path);

/// Writes all of `bytes` to a descriptor: repeats interrupted and partial writes. False on failure,
/// with errno set.
bool write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace dedloc::platform
