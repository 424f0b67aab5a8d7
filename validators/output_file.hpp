// Name, path and bytes of a job's output file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc::validation {

/// Name of the first file that a result's xml_doc_in refers to; nothing if there is none or the
/// name is not a plain file name.
std::optional<std::string> output_file_name(std::string_view xml);

/// Path of the uploaded file of that name in the project's upload tree. Throws IoError.
std::filesystem::path output_file_path(const std::string& name);

/// The file's first `limit` + 1 bytes: the result is longer than `limit` if the file is. Nothing if
/// the file is absent. Throws IoError.
std::optional<Buffer> read_output_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace dedloc::validation
