// The layers of the house as a table: what each folder may include and may not use. A rule is
// changed here, in DESIGN's words: `peer/` core has no clock, no thread, no randomness of its own;
// only peer/net knows Boost.Asio; only boinc_app/training knows torch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dedloc::tidy {

/// An identifier that a layer may not use: a regular expression over code without comments and
/// literals.
struct Ban {
    std::string pattern;
    std::string why;
};

/// The rules of one folder and what is below it, unless a longer row says otherwise.
struct Layer {
    std::string folder;
    std::vector<std::string> may_include;  ///< prefixes of names, but for the standard library's
    std::vector<std::string> no_standard;  ///< prefixes of standard headers that it may not include
    std::vector<Ban> bans;
};

/// The longest row that holds `path`; null outside of the table.
const Layer* layer_of(std::string_view path);
const std::vector<Layer>& layers();
/// The headers of the operating system, as prefixes of names: a row has all of them or none.
const std::vector<std::string>& system_headers();

/// A line that nobody writes, in the files whose path matches `files`.
struct Habit {
    std::string files;
    std::string pattern;
    bool in_literals;  ///< look in comments and literals too
    std::string sentence;
};
const std::vector<Habit>& habits();

}  // namespace dedloc::tidy
