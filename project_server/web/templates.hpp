// The pages' templates, which are compiled into the program: Mustache, which escapes every value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "project_server/json/value.hpp"

namespace dedloc::server {

/// One file of pages/.
struct PageFile {
    std::string_view name;  ///< file name
    std::string_view text;  ///< contents
};

/// All files of pages/ that are compiled in.
const std::vector<PageFile>& page_files();
/// The contents of one of them (DEDLOC_CHECK).
std::string_view page_file(std::string_view name);

/// Fills in the template `name`. {{x}} is the escaped text of field x; a number x has the fields
/// plain (17), count (12,345), f1, f2, f4 (decimals), small (at least four decimals and three
/// significant digits), is_one, percent (of a share), date (of UTC seconds), ago and hours (of
/// seconds) and bytes. A section {{#x}} is rendered unless x is false, "", an empty list or absent.
/// Lists of plain values, such as points of a curve, are left out. Thread: any.
std::string fill_in(std::string_view name, const json::Value& data);

/// The page around `body`, which is HTML: title, menu and footer of layout.html. `frame` has the
/// fields of the layout other than the body.
std::string lay_out(const json::Value& frame, std::string body);

}  // namespace dedloc::server
