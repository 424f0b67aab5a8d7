// Records the calls that make a file durable, in order, by overriding functions of the C library.
#pragma once

#include <string>
#include <vector>

namespace dedloc {

/// "sync PATH" and "rename FROM TO" calls of this process since the last take_file_calls(), oldest
/// first. The test program must be linked with file_calls.cpp.
std::vector<std::string> take_file_calls();

}  // namespace dedloc
