// Addresses of pages that are compiled into stock programs, or that every BOINC project has, so
// that people have them in links and bookmarks: the Manager opens account_finish.php after it has
// created an account, and links get_passwd.php. Each leads to our page of the same kind. Tests
// compare them with the whole list, tests/project_server/web/stock_addresses.hpp.
//
// Some have an account's key in the address. It is not looked at, so it opens no session, and it
// goes no further: the page that follows has an address without it, and no referrer names it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "project_server/web/site.hpp"

namespace dedloc::server {

/// A page of BOINC's projects and ours.
struct StockPage {
    std::string_view stock;  ///< BOINC's: the name of a file under the master URL
    const char* page;        ///< ours, after the prefix of the site
    const char* argument;    ///< names the id that `page_of` needs; nullptr: no id
    const char* page_of{};   ///< ours if the argument is a number, which is appended
};

/// All of them.
std::span<const StockPage> stock_pages();

/// Adds a redirection for each, for GET only: they change nothing. Comes after the routes of other
/// areas, because it answers for all files of PHP that they do not have.
void add_stock_addresses(Site& site);

/// Sends the browser to one of our pages, and the address it comes from nowhere.
void send_without_key(const Site& site, httplib::Response& response, const std::string& path);

}  // namespace dedloc::server
