// Records the calls that make a file durable, in order, by standing in front of the C library.
#pragma once

#include <string>
#include <vector>

namespace dedloc {

/// "sync PATH" and "rename FROM TO" of this process since the last call, oldest first. Include in
/// one source of a test program together with file_calls.cpp.
std::vector<std::string> take_file_calls();

}  // namespace dedloc
