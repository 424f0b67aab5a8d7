// Where a job's output file lies, and its bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "peer/base/bytes.hpp"

namespace dedloc::validation {

/// Name of the first file that a result's xml_doc_in refers to; nothing when there is none or it is
/// no plain name.
std::optional<std::string> output_file_name(std::string_view xml);

/// The uploaded file of that name in the project's upload tree.
std::filesystem::path output_file_path(const std::string& name);

/// Up to `limit` + 1 bytes of it, so that a larger file shows; nothing when it is absent. Throws
/// IoError.
std::optional<Buffer> read_output_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace dedloc::validation
