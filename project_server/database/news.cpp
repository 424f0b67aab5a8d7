#include "project_server/database/news.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxTitle = 120;
constexpr std::size_t kMaxText = 20'000;

}  // namespace

std::vector<NewsItem> read_news(Database& database, int count) {
    std::vector<NewsItem> items;
    for (const Row& row :
         database.query("select id, created, title, body from dedloc_news order by id desc limit ?",
                        {count})) {
        items.push_back({.id = row.integer("id"),
                         .created = row.real("created"),
                         .title = row.text("title"),
                         .text = row.text("body")});
    }
    return items;
}

std::int64_t add_news(Database& database, const std::string& title, const std::string& text,
                      double now) {
    if (title.empty() || title.size() > kMaxTitle) {
        throw InputError(fmt::format("the title of news has 1 to {} bytes", kMaxTitle));
    }
    if (text.empty() || text.size() > kMaxText) {
        throw InputError(fmt::format("the text of news has 1 to {} bytes", kMaxText));
    }
    try {
        database.execute("insert into dedloc_news (created, title, body) values (?, ?, ?)",
                         {now, title, text});
    } catch (const RefusedData&) {
        throw InputError("title and text of news must be UTF-8");
    }
    return database.insert_id();
}

bool remove_news(Database& database, std::int64_t id) {
    return database.execute("delete from dedloc_news where id = ?", {id}) > 0;
}

}  // namespace dedloc::server
