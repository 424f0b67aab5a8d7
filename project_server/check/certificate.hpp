// A TLS certificate and its key, read as nginx reads them.
#pragma once

#include <filesystem>
#include <string>

namespace dedloc::check {

/// Why nginx cannot use the two files, in one sentence; empty: it can. Whether the certificate is
/// for the project's URL and still valid is not looked at. Errors: InputError: a file cannot be
/// read.
std::string certificate_fault(const std::filesystem::path& certificate,
                              const std::filesystem::path& key);

}  // namespace dedloc::check
