// A row is locked before its average is read, because the new average depends on the old one.
#include "validators/grants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/error.hpp"
#include "project_server/database/recent_credit.hpp"

namespace dedloc::validation {
namespace {

constexpr double kDay = 86'400;  // seconds

/// The first grant's average is credit ÷ time since `started`: a batch of minutes must not be
/// extrapolated to a day's work.
server::CreditGrant timed(const Grant& grant) {
    const double now = server::unix_now();
    const double latest = now - kDay;
    return {.credit = grant.credit,
            .started = grant.started > 0 ? std::min(grant.started, latest) : latest,
            .now = now};
}

void add_credit(server::Database& database, const char* table, const server::Row& row,
                const server::CreditGrant& grant) {
    database.execute(
        fmt::format("update {} set total_credit = total_credit + ?, expavg_credit = "
                    "?, expavg_time = ? where id = ?",
                    table),
        {grant.credit, server::recent_credit_after(row, grant), grant.now, row.integer("id")});
}

/// `table`: credit_user or credit_team, whose owners are in the column `owner`.
void add_credit_by_app(server::Database& database, const char* table, const char* owner,
                       std::int64_t id, std::int64_t app, const server::CreditGrant& grant) {
    const std::string place = fmt::format("{} = ? and appid = ? and credit_type = 0", owner);
    database.execute(fmt::format("insert ignore into {} ({}, appid, expavg_time) values (?, ?, ?)",
                                 table, owner),
                     {id, app, grant.now});
    const auto row = database.query_one(
        fmt::format("select expavg as expavg_credit, expavg_time from {} where {} for update",
                    table, place),
        {id, app});
    if (!row) return;
    database.execute(fmt::format("update {} set njobs = njobs + 1, total = total + ?, expavg = ?, "
                                 "expavg_time = ? where {}",
                                 table, place),
                     {grant.credit, server::recent_credit_after(*row, grant), grant.now, id, app});
}

}  // namespace

void grant_credit(server::Database& database, const Grant& grant, const Passing& passing) {
    const server::CreditGrant credit = timed(grant);
    const auto host = database.query_one(
        "select id, expavg_credit, expavg_time from host where id = ? and userid = ? for update",
        {grant.host, grant.user});
    if (host) {
        add_credit(database, "host", *host, credit);
        passing("host granted");
    }
    const auto user = database.query_one(
        "select id, teamid, expavg_credit, expavg_time from user where id = ? for update",
        {grant.user});
    if (!user) throw Error(fmt::format("user {} has been deleted", grant.user));
    add_credit(database, "user", *user, credit);
    passing("user granted");
    const auto team = database.query_one(
        "select id, expavg_credit, expavg_time from team where id = ? for update",
        {user->integer("teamid")});
    if (!team) return;
    add_credit(database, "team", *team, credit);
    passing("team granted");
}

void grant_credit_by_app(server::Database& database, const Grant& grant, const Passing& passing) {
    const server::CreditGrant credit = timed(grant);
    const auto result =
        database.query_one("select userid, teamid, appid from result where id = ?", {grant.result});
    if (!result) throw Error(fmt::format("result {} has been deleted", grant.result));
    const std::int64_t app = result->integer("appid");
    add_credit_by_app(database, "credit_user", "userid", result->integer("userid"), app, credit);
    passing("user granted by app");
    // BOINC also keeps the credit of users without a team, as that of team 0.
    add_credit_by_app(database, "credit_team", "teamid", result->integer("teamid"), app, credit);
    passing("team granted by app");
}

}  // namespace dedloc::validation
