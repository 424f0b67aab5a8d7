// Each group of figures is one statement. dedloc-purge replaces old contributions by daily sums, so
// credit and the work that is credited or unowned are sums over both tables; withheld and pending
// rows are never compacted. The credit that is due is computed from samples and bytes at the run's
// rates and compared with what the rows have, with a tolerance for the order of additions.
#include "project_server/views/run_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "peer/base/error.hpp"
#include "peer/base/utc_text.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/views/runs.hpp"

namespace dedloc::server {
namespace {

/// A sum or a number of rows.
std::uint64_t sum_of(const Row& row, std::string_view column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

}  // namespace

double RunReport::credit_due() const {
    constexpr double kGigabyte = 1e9;
    return static_cast<double>(samples) * credit_per_sample +
           static_cast<double>(reduced_bytes) / kGigabyte * credit_per_gigabyte_reduced;
}

bool RunReport::credit_agrees() const {
    // The database sums binary64 numbers in another order, so the sums differ by rounding.
    constexpr double kTolerance = 1e-9;
    const auto agree = [](double a, double b) { return std::abs(a - b) <= kTolerance * b; };
    return agree(credit_of_lines, credit_due()) &&
           (has_other_apps || agree(credit_of_users, credit_of_all_runs));
}

namespace {

std::vector<std::string> withholdings(Database& database, std::int64_t run) {
    std::vector<std::string> sentences;
    for (const auto& row : database.query(
             "select kind, subject, since, sum(contributions) as contributions, "
             "sum(samples) as samples, sum(reduced_bytes) as bytes, count(*) as peers from "
             "dedloc_withheld where runid = ? "
             "group by kind, subject, since order by since",
             {run})) {
        sentences.push_back(fmt::format(
            "{} samples and {} reduced bytes in {} contributions of {} keys: {} {} was revoked at "
            "{} UTC",
            row.integer("samples"), row.integer("bytes"), row.integer("contributions"),
            row.integer("peers"), row.text("kind"), row.text("subject").substr(0, 16),
            utc_text(row.integer("since"))));
    }
    return sentences;
}

}  // namespace

RunReport run_report(Database& database, const std::string& name, bool has_other_apps) {
    using enum CreditState;
    const RunView run = read_run(database, name);
    const auto lines = database.query_one(
        "select coalesce(sum(if(credit_state = ?, samples, 0)), 0) as samples, "
        "coalesce(sum(if(credit_state = ?, reduced_bytes, 0)), 0) as bytes, "
        "coalesce(sum(if(credit_state = ?, reduced_bytes, 0)), 0) as withheld_bytes, "
        "coalesce(sum(if(credit_state = ?, reduced_bytes, 0)), 0) as unowned_bytes, "
        "coalesce(sum(credit), 0) as credit, "
        "coalesce(sum(credit_state = ?), 0) as uncredited, "
        "coalesce(sum(if(credit_state = ?, samples, 0)), 0) as withheld, "
        "coalesce(sum(if(credit_state = ?, samples, 0)), 0) as unowned "
        "from dedloc_contribution where runid = ?",
        {kCredited, kCredited, kWithheld, kUnowned, kPending, kWithheld, kUnowned, run.id});
    const auto daily = database.query_one(
        "select coalesce(sum(samples), 0) as samples, coalesce(sum(credit), 0) as credit, "
        "coalesce(sum(unowned), 0) as unowned, coalesce(sum(reduced_bytes), 0) as bytes, "
        "coalesce(sum(unowned_bytes), 0) as unowned_bytes from dedloc_daily_credit where runid = ?",
        {run.id});
    const auto users = database.query_one(
        "select (select coalesce(sum(total_credit), 0) from user) + "
        "(select coalesce(sum(credit), 0) from dedloc_deleted_credit) as credit");
    const auto all_runs = database.query_one(
        "select (select coalesce(sum(credit), 0) from dedloc_contribution) + "
        "(select coalesce(sum(credit), 0) from dedloc_daily_credit) as credit");
    const auto results = database.query_one(
        fmt::format("select count(*) as open from result r join workunit w on w.id = r.workunitid "
                    "where w.opaque = ? and w.appid in (select id from app where name in {}) and "
                    "(r.server_state = ? or "
                    "(r.server_state = ? and r.outcome = ? and r.validate_state = ?))",
                    kAppsInSql),
        {run.id, ServerState::kInProgress, ServerState::kOver, ResultOutcome::kSuccess,
         ValidateState::kInit});
    const auto steps = database.query_one(
        "select coalesce(sum(members = equal_digests), 0) as equal, "
        "coalesce(sum(equal_digests = 0), 0) as unsettled from dedloc_step "
        "where runid = ?",
        {run.id});
    return {.samples = sum_of(*lines, "samples") + sum_of(*daily, "samples"),
            .reduced_bytes = sum_of(*lines, "bytes") + sum_of(*daily, "bytes"),
            .uncredited = sum_of(*lines, "uncredited"),
            .withheld = sum_of(*lines, "withheld"),
            .withheld_bytes = sum_of(*lines, "withheld_bytes"),
            .unowned = sum_of(*lines, "unowned") + sum_of(*daily, "unowned"),
            .unowned_bytes = sum_of(*lines, "unowned_bytes") + sum_of(*daily, "unowned_bytes"),
            .open_results = sum_of(*results, "open"),
            .credit_per_sample = run.credit_per_sample,
            .credit_per_gigabyte_reduced = run.credit_per_gigabyte_reduced,
            .credit_of_lines = lines->real("credit") + daily->real("credit"),
            .credit_of_all_runs = all_runs->real("credit"),
            .credit_of_users = users->real("credit"),
            .has_other_apps = has_other_apps,
            .withholdings = withholdings(database, run.id),
            .equal_steps = sum_of(*steps, "equal"),
            .unsettled_steps = sum_of(*steps, "unsettled")};
}

}  // namespace dedloc::server
