// Path and bytes of a job's output file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "peer/base/bytes.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::validation {

/// Path of the uploaded file of that name in the project's upload tree. Throws IoError.
std::filesystem::path output_file_path(const server::ProjectConfig& project,
                                       const std::string& name);

/// The file's first `limit` + 1 bytes: the result is longer than `limit` if the file is. Nothing if
/// the file is absent. Throws IoError.
std::optional<Buffer> read_output_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace dedloc::validation
