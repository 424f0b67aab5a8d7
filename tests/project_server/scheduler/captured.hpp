// Requests of stock clients, as they came.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace dedloc::server {

/// The request in this file of `captured/`.
inline std::string captured(const std::string& name) {
    std::ifstream file{std::string{DEDLOC_CAPTURED} + "/" + name};
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace dedloc::server
