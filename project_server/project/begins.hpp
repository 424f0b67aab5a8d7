// Says what a long operation begins to do.
#pragma once

#include <functional>
#include <string>

namespace dedloc::project {

/// Called with what begins now, in words.
using Begins = std::function<void(const std::string&)>;

}  // namespace dedloc::project
