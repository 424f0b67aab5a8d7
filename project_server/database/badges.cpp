#include "project_server/database/badges.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace dedloc::server {
namespace {

constexpr double kMinRecentCredit = 1;  ///< a day; below it credit does not count as recent

/// The credit of the last one of the best `percent` percent; nothing if there is none.
std::optional<double> percentile(Database& database, const std::string& table, double percent) {
    const auto count = database.query_one(
        fmt::format("select count(*) as n from {} where expavg_credit > ?", table),
        {kMinRecentCredit});
    const auto best =
        static_cast<std::int64_t>(static_cast<double>(count->integer("n")) * percent / 100);
    if (best == 0) return std::nullopt;
    const auto row = database.query_one(
        fmt::format("select expavg_credit from {} order by expavg_credit desc, id limit 1 "
                    "offset ?",
                    table),
        {best - 1});
    return row ? std::optional{row->real("expavg_credit")} : std::nullopt;
}

/// BOINC's row for a rule.
std::int64_t badge_of(Database& database, const Row& rule, double now) {
    const bool is_team = rule.text("target") == "team";
    const auto known =
        database.query_one("select id from badge where name = ?", {rule.text("name")});
    if (known) return known->integer("id");
    database.execute(
        "insert into badge (create_time, type, name, title, level) values (?, ?, ?, ?, ?)",
        {now, is_team ? 1 : 0, rule.text("name"), rule.text("title"), rule.text("name")});
    return database.insert_id();
}

/// Makes the holders of a badge those with credit in `column` from `min` to below `max`.
void assign(Database& database, const std::string& table, std::int64_t badge,
            const std::string& column, double min, double max, double now) {
    database.execute(fmt::format("delete g from badge_{0} g left join {0} t on t.id = g.{0}_id "
                                 "where g.badge_id = ? and (t.id is null or t.{1} < ? or "
                                 "t.{1} >= ?)",
                                 table, column),
                     {badge, min, max});
    database.execute(fmt::format("insert ignore into badge_{0} (badge_id, {0}_id, create_time) "
                                 "select ?, id, ? from {0} where {1} >= ? and {1} < ?",
                                 table, column),
                     {badge, now, min, max});
}

constexpr double kNoLimit = 1e300;

void assign_percentiles(Database& database, const std::string& table, double now) {
    double max = kNoLimit;
    for (const Row& rule : database.query("select * from dedloc_badge_rule where target = ? and "
                                          "measure = 'percentile' order by threshold",
                                          {table})) {
        const auto min = percentile(database, table, rule.real("threshold"));
        const double from = min.value_or(max);  // an empty range if the project is too small
        assign(database, table, badge_of(database, rule, now), "expavg_credit", from, max, now);
        max = from;
    }
}

void assign_totals(Database& database, const std::string& table, double now) {
    for (const Row& rule : database.query("select * from dedloc_badge_rule where target = ? and "
                                          "measure = 'total' order by threshold",
                                          {table})) {
        assign(database, table, badge_of(database, rule, now), "total_credit",
               rule.real("threshold"), kNoLimit, now);
    }
}

}  // namespace

void assign_badges(Database& database, double now) {
    in_transaction(database, [&] {
        for (const std::string table : {"user", "team"}) {
            assign_percentiles(database, table, now);
            assign_totals(database, table, now);
        }
    });
}

}  // namespace dedloc::server
