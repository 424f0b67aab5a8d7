// Finds what only tests use, or nothing: functions and classes that product headers declare.
#pragma once

#include <vector>

#include "tests/tidy_rules.hpp"

namespace dedloc::tidy {

/// Functions and classes declared in headers of the product whose name no source of the product
/// uses.
///
/// The product is peer, kernels, boinc_app, project_server and validators; headers of the simulator
/// and of hostile peers, which tests use, are not checked, and hostile peers use nothing. A use is
/// any occurrence of the name in code, except where it is declared or defined, in a file that
/// includes the header, directly or through others; or that includes a header with a declaration of
/// the same name on which the header builds, such as that of an interface; or in one of the headers
/// that it includes, such as that of a template. So the use of another function of the same name
/// does not count. A class is not used by its own members.
///
/// Excused are constructors, operators, friends, overrides, deleted functions, and a short list.
Findings check_callers(const std::vector<SourceFile>& files);

}  // namespace dedloc::tidy
