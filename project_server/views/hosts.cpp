// Privacy is decided by the reader, not by the templates: the select finds a computer for a visitor
// only if its user shows it or is the viewer, and has names, addresses and bans for an
// administrator only. Conditions that the choice does not make are constant, and MariaDB drops them
// before it plans. brief_host() has the fields that the pages of a user and of a computer share.
#include "project_server/views/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "project_server/database/recent_credit.hpp"
#include "project_server/database/text_columns.hpp"
#include "project_server/scheduler/preferences.hpp"
#include "project_server/views/tasks.hpp"
#include "project_server/views/volunteer_work.hpp"

namespace dedloc::server {
namespace {

const char* column_of(ListOrder order) {
    switch (order) {
        case ListOrder::kCredit:
            return "h.total_credit";
        case ListOrder::kRecentCredit:
            return "h.expavg_credit";
        case ListOrder::kLastContact:
            return "h.rpc_time";
    }
    return "";
}

HostView host_in(const Row& row, double now) {
    return {.id = row.integer("id"),
            .owner_id = row.integer("userid"),
            .owner = row.text("owner"),
            .processor = row.text("p_model"),
            .vendor = row.text("p_vendor"),
            .cores = row.integer("p_ncpus"),
            .devices = row.text("serialnum"),
            .memory_bytes = row.real("m_nbytes"),
            .flops = row.real("p_fpops"),
            .system = row.text("os_name"),
            .system_version = row.text("os_version"),
            .created = row.integer("create_time"),
            .last_contact = row.integer("rpc_time"),
            .credit = row.real("total_credit"),
            .recent_credit = recent_credit(row, now),
            .venue = row.text("venue"),
            .turnaround_seconds = row.real("avg_turnaround"),
            .on_share = row.real("on_frac"),
            .name = row.text("name"),
            .address = row.text("address"),
            .is_banned = row.integer("is_banned") != 0};
}

json::Value brief_host(const HostView& host) {
    json::Value data;
    data.set("id", host.id)
        .set("processor", host.processor)
        .set("cores", host.cores)
        .set("system", host.system)
        .set("credit", host.credit)
        .set("recent_credit", host.recent_credit)
        .set("last_contact", host.last_contact);
    return data;
}

}  // namespace

std::vector<HostView> read_hosts(Database& database, const ListChoice& choice) {
    const auto is_revoked = [](const char* kind, const char* column) {
        return fmt::format(
            "exists (select 1 from dedloc_revocation b where b.kind = '{}' and b.subject = "
            "cast(h.{} as char))",
            kind, column);
    };
    const std::string is_banned = is_revoked("host", "id");
    const double now = unix_now();
    std::vector<HostView> hosts;
    for (const Row& row : database.query(
             fmt::format(
                 "select h.id, h.userid, u.name as owner, h.p_model, h.p_vendor, h.p_ncpus, "
                 "h.serialnum, h.m_nbytes, h.p_fpops, h.os_name, h.os_version, h.create_time, "
                 "h.rpc_time, h.total_credit, h.expavg_credit, h.expavg_time, h.venue, "
                 "h.avg_turnaround, h.on_frac, {} from host h left join user u on u.id = h.userid "
                 "where (? or h.id = ?) and (? = 0 or h.userid = ?) and "
                 "(? or u.show_hosts = 1 or u.id = ?) and (? = 0 or {}) and (? = '' or {}) "
                 "order by {} desc, h.id limit ? offset ?",
                 choice.for_administrator
                     ? fmt::format("h.domain_name as name, h.external_ip_addr as address, "
                                   "({} or {}) as is_banned",
                                   is_banned, is_revoked("user", "userid"))
                     : "'' as name, '' as address, 0 as is_banned",
                 is_banned, like_text("h.domain_name"), column_of(choice.order)),
             {!choice.id, choice.id.value_or(0), choice.user, choice.user, choice.for_administrator,
              choice.viewer, choice.is_banned, choice.found, like_pattern(choice.found),
              choice.limit, choice.offset})) {
        hosts.push_back(host_in(row, now));
    }
    return hosts;
}

json::Value::List hosts_of(Database& database, std::int64_t user) {
    json::Value::List list;
    for (const HostView& host :
         read_hosts(database, {.user = user, .order = ListOrder::kLastContact, .viewer = user})) {
        list.push_back(brief_host(host));
    }
    return list;
}

json::Value::List venue_choices(const std::string& chosen) {
    json::Value::List list;
    const auto add = [&](const char* venue) {
        json::Value choice;
        choice.set("value", venue).set("is_chosen", chosen == venue);
        list.push_back(std::move(choice));
    };
    add("");
    for (const char* const venue : kVenues) add(venue);
    return list;
}

std::optional<json::Value> host_data(Database& database, std::int64_t id, std::int64_t viewer) {
    const auto found = read_hosts(database, {.id = id, .viewer = viewer});
    if (found.empty()) return std::nullopt;
    const HostView& host = found.front();
    const bool is_own = host.owner_id == viewer && viewer != 0;
    json::Value data = brief_host(host);
    data.set("user_id", host.owner_id)
        .set("owner", host.owner)
        .set("is_own", is_own)
        .set("venues", is_own ? venue_choices(host.venue) : json::Value::List{})
        .set("created", host.created)
        .set("vendor", host.vendor)
        .set("system_version", host.system_version)
        .set("devices", host.devices)
        .set("memory_bytes", host.memory_bytes)
        .set("flops", host.flops)
        .set("days_to_report", host.turnaround_seconds / 86'400)
        .set("on_share", std::clamp(host.on_share, 0.0, 1.0));
    return data;
}

json::Value host_list(Database& database, ListChoice choice) {
    choice.order = ListOrder::kLastContact;
    choice.for_administrator = true;
    json::Value::List list;
    for (const HostView& host : read_hosts(database, choice)) {
        json::Value data;
        data.set("id", host.id)
            .set("name", host.name)
            .set("user_id", host.owner_id)
            .set("user", host.owner)
            .set("processor", host.processor)
            .set("cores", host.cores)
            .set("system", host.system)
            .set("credit", host.credit)
            .set("recent_credit", host.recent_credit)
            .set("contact_at", host.last_contact)
            .set("is_banned", host.is_banned);
        list.push_back(std::move(data));
    }
    json::Value data;
    return data.set("hosts", std::move(list));
}

json::Value host_facts(Database& database, std::int64_t id) {
    const HostView host = read_hosts(database, {.id = id, .for_administrator = true}).at(0);
    json::Value::List bans = bans_of(database, host.owner_id, id);
    json::Value data;
    data.set("id", id)
        .set("name", host.name)
        .set("user_id", host.owner_id)
        .set("user", host.owner)
        .set("address", host.address)
        .set("processor", host.processor)
        .set("vendor", host.vendor)
        .set("cores", host.cores)
        .set("devices", host.devices)
        .set("memory_bytes", host.memory_bytes)
        .set("flops", host.flops)
        .set("system", host.system)
        .set("system_version", host.system_version)
        .set("created_at", host.created)
        .set("contact_at", host.last_contact)
        .set("credit", host.credit)
        .set("recent_credit", host.recent_credit)
        .set("venue", host.venue)
        .set("turnaround_seconds", host.turnaround_seconds)
        .set("is_banned", !bans.empty())
        .set("bans", std::move(bans))
        .set("versions", versions_of(database, id));
    add_work(data, database, {.host = id});
    data.set("recent_jobs", recent_jobs(database, id));
    return data;
}

}  // namespace dedloc::server
