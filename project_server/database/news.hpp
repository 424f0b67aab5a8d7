// The project's news: the table dedloc_news.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// One item. Title and text are text, not HTML; an empty line separates paragraphs.
struct NewsItem {
    std::int64_t id = 0;  ///< number by which it is removed
    double created = 0;   ///< UTC seconds
    std::string title;    ///< 1 to 120 bytes
    std::string text;     ///< at most 20,000 bytes
};

/// The newest `count` items, newest first. Errors: DatabaseError.
std::vector<NewsItem> read_news(Database& database, int count);
/// Adds an item and returns its id. Errors: DatabaseError; InputError for an empty or too long
/// title or text, or text that is not UTF-8.
std::int64_t add_news(Database& database, const std::string& title, const std::string& text,
                      double now);
/// Removes an item; false if there is none. Errors: DatabaseError.
bool remove_news(Database& database, std::int64_t id);

}  // namespace dedloc::server
