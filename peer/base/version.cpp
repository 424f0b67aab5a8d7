// CMake passes the version as a macro to this file alone, so that a new version compiles one file.
#include "peer/base/version.hpp"

namespace dedloc {

std::string version() {
    return DEDLOC_VERSION;
}

}  // namespace dedloc
