#include "project_server/database/presence.hpp"

namespace dedloc::server {

void record_presence(Database& database, std::int64_t run, const Presence& presence) {
    // host.serialnum lists coprocessors as [CUDA|name|count|…]; a job of a GPU's version uses one.
    database.execute(
        "insert into dedloc_presence (runid, peer_key, began, ended, contributions, samples, "
        "reduced_bytes, userid, hostid, version, plan_class, device) select ?, ?, ?, ?, ?, ?, ?, "
        "coalesce(t.userid, 0), coalesce(t.hostid, 0), coalesce(v.version_num, 0), "
        "coalesce(v.plan_class, ''), coalesce(if(v.plan_class like 'cuda%' and h.serialnum like "
        "'%[CUDA|%', substring_index(substring_index(h.serialnum, '[CUDA|', -1), '|', 1), "
        "h.p_model), '') from (select 1) one "
        "left join dedloc_ticket t on t.runid = ? and t.peer_key = ? "
        "left join host h on h.id = t.hostid left join result r on r.id = t.resultid "
        "left join app_version v on v.id = r.app_version_id on duplicate key update "
        "ended = values(ended), contributions = values(contributions), "
        "samples = values(samples), reduced_bytes = values(reduced_bytes)",
        {run, presence.key, presence.began, presence.ended, presence.contributions,
         presence.samples, presence.reduced_bytes, run, presence.key});
}

std::vector<Presence> read_presences(Database& database, std::int64_t run, std::int64_t since) {
    std::vector<Presence> presences;
    for (const Row& row : database.query(
             "select peer_key, began, ended, contributions, samples, reduced_bytes, userid, "
             "hostid, version, plan_class, device from dedloc_presence where runid = ? and "
             "userid <> 0 and ended >= ? order by hostid, began, peer_key",
             {run, since})) {
        presences.push_back(
            {.key = row.text("peer_key"),
             .began = row.integer("began"),
             .ended = row.integer("ended"),
             .contributions = static_cast<std::uint64_t>(row.integer("contributions")),
             .samples = static_cast<std::uint64_t>(row.integer("samples")),
             .reduced_bytes = static_cast<std::uint64_t>(row.integer("reduced_bytes")),
             .user = row.integer("userid"),
             .host = row.integer("hostid"),
             .version = row.integer("version"),
             .plan_class = row.text("plan_class"),
             .device = row.text("device")});
    }
    return presences;
}

}  // namespace dedloc::server
