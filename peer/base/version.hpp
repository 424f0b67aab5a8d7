// The version of the project.
#pragma once

#include <string>

namespace dedloc {

/// Major, minor and patch number, such as "0.1.0": project(VERSION) in the root CMakeLists.txt.
std::string version();

}  // namespace dedloc
