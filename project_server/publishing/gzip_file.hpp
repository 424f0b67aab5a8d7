// Compressed copies of published files, which clients download in their place.
#pragma once

#include <cstdint>
#include <filesystem>

namespace dedloc::server {

/// Writes FILE.gz beside `file` and returns its size in bytes. It appears under its name when it is
/// complete and on the disk; one that is there is kept, because a published file never changes.
///
/// Errors  IoError
std::uintmax_t gzip_file(const std::filesystem::path& file);

/// Whether a compressed file can be read to its end, where it has the checksum of what was read.
bool is_whole_gzip(const std::filesystem::path& compressed);

}  // namespace dedloc::server
