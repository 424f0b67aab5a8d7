#include "project_server/database/recent_credit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace dedloc::server {
namespace {

constexpr double kDay = 86'400;         ///< seconds
constexpr double kHalfLife = 7 * kDay;  ///< seconds, BOINC's CREDIT_HALF_LIFE
constexpr double kRenewalAge = kDay;    ///< seconds after which an average is renewed
constexpr double kMinAverage = 0.01;    ///< credits a day; below it nothing is left
constexpr std::size_t kRowsAtOnce = 200;

/// Goes down the index of expavg_credit. A renewed row moves down it as well, but it is not old any
/// more when it is met again.
std::uint64_t decay_table(Database& database, const std::string& table, const char* index,
                          double now) {
    const std::string decayed = recent_credit_expression(now);
    std::uint64_t renewed = 0;
    double highest = 1e300;
    for (std::size_t count = kRowsAtOnce; count == kRowsAtOnce;) {
        const Rows rows = database.query(
            fmt::format("select id, expavg_credit from {} force index ({}) where expavg_credit > 0 "
                        "and expavg_credit <= ? and expavg_time < ? order by expavg_credit desc "
                        "limit ?",
                        table, index),
            {highest, now - kRenewalAge, kRowsAtOnce});
        count = rows.size();
        if (count == 0) break;
        highest = rows.back().real("expavg_credit");
        std::vector<std::int64_t> ids;
        for (const Row& row : rows) ids.push_back(row.integer("id"));
        std::ranges::sort(ids);
        // Credit may have been granted since the rows were read, so the age is checked again.
        // MariaDB assigns from left to right: the time has to change last.
        renewed += in_transaction(database, [&] {
            return database.execute(
                fmt::format("update {0} set expavg_credit = if({1} < ?, 0, {1}), expavg_time = ? "
                            "where id in ({2}) and expavg_time < ?",
                            table, decayed, fmt::join(ids, ", ")),
                {kMinAverage, now, now - kRenewalAge});
        });
    }
    return renewed;
}

}  // namespace

double recent_credit(const Row& row, double now) {
    const double time = row.real("expavg_time");
    const double average = row.real("expavg_credit");
    if (time == 0 || time >= now) return average;
    return average * std::exp2((time - now) / kHalfLife);
}

/// The average follows da/dt = −λa + λr if r credits come a day, so after Δ seconds it is
/// a·e^(−λΔ) + r·(1 − e^(−λΔ)). With r = credit ÷ Δ the last term is
/// λ·credit·(1 − e^(−x))/x for x = λΔ, which has a limit where Δ is 0.
double recent_credit_after(const Row& row, const CreditGrant& grant) {
    const double time = row.real("expavg_time");
    if (time == 0) return grant.credit * kDay / (grant.now - grant.started);
    const double decay = std::numbers::ln2 / kHalfLife;
    const double x = std::max(grant.now - time, 0.0) * decay;
    const double evenly = x > 0 ? -std::expm1(-x) / x : 1;
    return row.real("expavg_credit") * std::exp(-x) + grant.credit * kDay * decay * evenly;
}

std::string recent_credit_expression(double now) {
    return fmt::format(
        "(expavg_credit * if(expavg_time = 0, 1, exp(least(expavg_time - {:.17g}, 0) * {:.17g})))",
        now, std::numbers::ln2 / kHalfLife);
}

std::uint64_t decay_recent_credit(Database& database, double now) {
    std::uint64_t renewed = 0;
    renewed += decay_table(database, "user", "user_avg", now);
    renewed += decay_table(database, "host", "host_avg", now);
    renewed += decay_table(database, "team", "dedloc_team_avg", now);
    return renewed;
}

}  // namespace dedloc::server
