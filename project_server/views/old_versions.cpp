#include "project_server/views/old_versions.hpp"

#include <fmt/format.h>

#include <utility>

#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/views/run_story.hpp"

namespace dedloc::server {

std::vector<OldVersion> read_old_versions(Database& database) {
    std::vector<OldVersion> old;
    for (const Row& row : database.query(
             fmt::format(
                 "select distinct r.hostid, h.domain_name, r.userid, u.name as user_name, "
                 "v.version_num, v.plan_class, coalesce((select max(n.version_num) from "
                 "app_version "
                 "n where n.appid = v.appid and n.platformid = v.platformid and n.plan_class = "
                 "v.plan_class and n.deprecated = 0), 0) as newest from app a join result r on "
                 "r.appid = a.id join app_version v on v.id = r.app_version_id join host h on h.id "
                 "= r.hostid join user u on u.id = r.userid where a.name in {} and "
                 "r.server_state = ? having v.version_num <> newest order by r.hostid, "
                 "v.version_num",
                 kAppsInSql),
             {ServerState::kInProgress})) {
        const std::int64_t newest = row.integer("newest");
        old.push_back({.host = row.integer("hostid"),
                       .host_name = row.text("domain_name"),
                       .user = row.integer("userid"),
                       .user_name = row.text("user_name"),
                       .version = version_name(row.integer("version_num"), row.text("plan_class")),
                       .newest = newest == 0 ? std::string{} : version_name(newest, {})});
    }
    return old;
}

json::Value::List old_version_list(const std::vector<OldVersion>& old) {
    json::Value::List list;
    for (const OldVersion& job : old) {
        if (list.size() == kMaxOldVersions) break;
        json::Value data;
        data.set("host_id", job.host)
            .set("host", job.host_name)
            .set("user_id", job.user)
            .set("user", job.user_name)
            .set("version", job.version)
            .set("newest", job.newest);
        list.push_back(std::move(data));
    }
    return list;
}

}  // namespace dedloc::server
