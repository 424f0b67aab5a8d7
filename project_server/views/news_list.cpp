#include "project_server/views/news_list.hpp"

#include "project_server/database/news.hpp"

namespace dedloc::server {

json::Value::List news_list(Database& database, int count) {
    json::Value::List list;
    for (const NewsItem& item : read_news(database, count)) {
        json::Value data;
        data.set("id", item.id)
            .set("title", item.title)
            .set("created", item.created)
            .set("text", item.text);
        list.push_back(std::move(data));
    }
    return list;
}

}  // namespace dedloc::server
