#include "project_server/views/suspicion_list.hpp"

#include <utility>

namespace dedloc::server {

json::Value::List suspicions(Database& database, const SuspicionChoice& choice) {
    json::Value::List list;
    for (const Row& row : database.query(
             "select s.*, coalesce(d.name, '') as run, coalesce(u.name, '') as user_name "
             "from dedloc_suspicion s left join dedloc_run d on d.id = s.runid "
             "left join user u on u.id = s.userid where (? = 0 or s.runid = ?) and "
             "(? = 0 or s.userid = ?) and (? = 0 or s.hostid = ?) "
             "order by s.last_seen desc, s.id desc limit ?",
             {choice.run, choice.run, choice.user, choice.user, choice.host, choice.host,
              choice.limit})) {
        json::Value suspicion;
        suspicion.set("run", row.text("run"))
            .set("user_id", row.integer("userid"))
            .set("user", row.text("user_name"))
            .set("host_id", row.integer("hostid"))
            .set("key", row.text("peer_key"))
            .set("source", row.text("source"))
            .set("what", row.text("what"))
            .set("detail", row.text("detail"))
            .set("step", row.integer("step"))
            .set("times", row.integer("times"))
            .set("first_at", row.integer("first_seen"))
            .set("last_at", row.integer("last_seen"))
            .set("evidence", row.text("evidence"));
        list.push_back(std::move(suspicion));
    }
    return list;
}

}  // namespace dedloc::server
