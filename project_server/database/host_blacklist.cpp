#include "project_server/database/host_blacklist.hpp"

namespace dedloc::server {
namespace {

/// The computers that a ban covers; by the primary key of host, and by its index of accounts.
constexpr const char* kBannedHosts =
    "(select h.id from dedloc_revocation r join host h on h.id = cast(r.subject as unsigned) "
    "where r.kind = 'host' union select h.id from dedloc_revocation r join host h on "
    "h.userid = cast(r.subject as unsigned) where r.kind = 'user')";

std::uint64_t blacklist(Database& database) {
    // A value that another program has written meanwhile is the one to give back.
    const std::string banned{kBannedHosts};
    database.execute(
        "insert into dedloc_blacklisted_host (hostid, former) select h.id, h.max_results_day from "
        "host h join " +
            banned +
            " b on b.id = h.id where h.max_results_day <> ? on duplicate key update former = "
            "values(former)",
        {kBlacklisted});
    return database.execute(
        "update host h join " + banned +
            " b on b.id = h.id set h.max_results_day = ? where h.max_results_day <> ?",
        {kBlacklisted, kBlacklisted});
}

std::uint64_t restore(Database& database, const std::string& condition) {
    const std::uint64_t changed = database.execute(
        "update host h join dedloc_blacklisted_host d on d.hostid = h.id set h.max_results_day = "
        "d.former where h.max_results_day = ? and " +
            condition,
        {kBlacklisted});
    database.execute("delete d from dedloc_blacklisted_host d where " + condition);
    return changed;
}

}  // namespace

std::uint64_t blacklist_banned_hosts(Database& database) {
    const std::string banned{kBannedHosts};
    const auto to_do = database.query_one(
        "select exists (select 1 from host h join " + banned +
            " b on b.id = h.id where h.max_results_day <> ?) or exists (select 1 from "
            "dedloc_blacklisted_host d where d.hostid not in " +
            banned + ") as something",
        {kBlacklisted});
    if (to_do->integer("something") == 0) return 0;
    return in_transaction(database, [&] {
        const std::uint64_t added = blacklist(database);
        return added + restore(database, "d.hostid not in " + banned);
    });
}

void clear_host_blacklist(Database& database) {
    in_transaction(database, [&] { return restore(database, "true"); });
}

}  // namespace dedloc::server
