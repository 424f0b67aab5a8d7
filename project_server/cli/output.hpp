// How a command prints what it has found: as JSON for programs (--json), else as text. One value
// becomes both, so neither shows what the other does not.
#pragma once

#include <string>

#include "project_server/json/value.hpp"

namespace dedloc::cli {

/// The value as text for a terminal: a line for each field, a table for each list of objects. Names
/// that end in _at are times. Control characters of untrusted texts become "?".
/// Requires an object.
std::string text_of(const json::Value& data);

/// Prints one line of JSON, or text_of(), to the standard output.
void print(const json::Value& data, bool as_json);

}  // namespace dedloc::cli
