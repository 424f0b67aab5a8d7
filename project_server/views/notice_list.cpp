#include "project_server/views/notice_list.hpp"

#include <utility>

#include "project_server/database/notices.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {

json::Value notice_list(Database& database, int count) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select m.id, m.create_time, m.hostid, m.handled, m.xml, h.domain_name, u.name from "
             "msg_to_host m left join host h on h.id = m.hostid left join user u on u.id = "
             "h.userid where m.variety = ? order by m.id desc limit ?",
             {kNoticeVariety, count})) {
        const std::string xml = row.text("xml");
        const auto message = find_element(xml, "message");
        json::Value notice;
        notice.set("id", row.integer("id"))
            .set("created_at", row.integer("create_time"))
            .set("host_id", row.integer("hostid"))
            .set("host", row.is_null("domain_name") ? std::string{} : row.text("domain_name"))
            .set("user", row.is_null("name") ? std::string{} : row.text("name"))
            .set("is_delivered", row.integer("handled") != 0)
            .set("text", message ? text_value(message->body, kMaxNotice) : std::string{});
        list.push_back(std::move(notice));
    }
    json::Value data;
    return data.set("notices", std::move(list));
}

}  // namespace dedloc::server
