// The files by which a computer joins with one line: pages/join.sh for a terminal, pages/join.ipynb
// for a notebook, each with the project's address in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dedloc::server {

/// A page's file with `master_url` for each %MASTER_URL%. The address stands in quotes of a shell
/// and of Python in JSON, so it may have letters, digits and - . _ ~ : / [ ] only; nothing for any
/// other. Requires: `name` is a file of pages/ (DEDLOC_CHECK).
std::optional<std::string> join_file(std::string_view name, const std::string& master_url);

}  // namespace dedloc::server
