// The ledger of credit: each account's total is the sum over the contributions that were paid to
// it. The owner of a contribution is found as dedloc-purge finds it: by the ticket of its key, else
// by its result.
//
// Sums of binary64 numbers differ by their order. Each payment adds one rounding of at most 2^-53,
// so that a million payments of an account differ by less than 1e-10 of the sum; the tolerance is
// 1e-9. A contribution that is lost or paid twice is larger, unless an account has more than 1e9 of
// them.
//
// A team has the credit that its members got while they were members. The tables do not say when
// that was, so only a bound is checked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "project_server/database/states.hpp"

#include "project_server/check/checks.hpp"

namespace dedloc::check {
namespace {

using server::CreditState;

constexpr double kTolerance = 1e-9;
constexpr int kLines = 20;  ///< accounts that are named

/// What each account was paid, by contributions and sums of older ones: columns user, credit. Its
/// parameter is CreditState::kCredited.
constexpr const char* kPaid =
    "select user, sum(credit) as credit from "
    "(select coalesce(nullif(t.userid, 0), r.userid, 0) as user, c.credit "
    "from dedloc_contribution c "
    "left join dedloc_ticket t on t.runid = c.runid and t.peer_key = c.peer_key "
    "left join result r on r.id = c.resultid where c.credit_state = ? "
    "union all select userid, credit from dedloc_daily_credit) paid group by user";

/// Whether two columns differ by more than rounding.
std::string differ(const std::string& a, const std::string& b) {
    return fmt::format("abs({0} - {1}) > {2} * greatest(abs({0}), abs({1}))", a, b, kTolerance);
}

double single(server::Database& database, const std::string& sql,
              server::Parameters parameters = {}) {
    return database.query_one(sql, parameters)->real("n");
}

void check_accounts(server::Database& database, Findings& findings) {
    // Credit without an owner: its ticket is of an earlier version, and its result is deleted.
    const double unowned = single(
        database,
        fmt::format("select coalesce(sum(credit), 0) as n from ({}) p where p.user = 0", kPaid),
        {CreditState::kCredited});
    const std::string condition =
        unowned == 0 ? differ("u.total_credit", "coalesce(p.credit, 0)")
                     : fmt::format("coalesce(p.credit, 0) > u.total_credit * (1 + {})", kTolerance);
    for (const auto& row : database.query(
             fmt::format("select u.id, u.total_credit, coalesce(p.credit, 0) as paid from user u "
                         "left join ({}) p on p.user = u.id where {} order by u.id limit ?",
                         kPaid, condition),
             {CreditState::kCredited, kLines})) {
        findings.bad(fmt::format("account {} has {:.10g} credits, and its contributions are worth "
                                 "{:.10g}",
                                 row.integer("id"), row.real("total_credit"), row.real("paid")),
                     "credit was changed by hand, or the database lost part of a payment: compare "
                     "with a backup");
    }
}

void check_totals(server::Database& database, Findings& findings) {
    const double paid =
        single(database,
               "select (select coalesce(sum(credit), 0) from dedloc_contribution) + "
               "(select coalesce(sum(credit), 0) from dedloc_daily_credit) as n");
    const double accounts =
        single(database,
               "select (select coalesce(sum(total_credit), 0) from user) + "
               "(select coalesce(sum(credit), 0) from dedloc_deleted_credit) as n");
    const double teams = single(database, "select coalesce(sum(total_credit), 0) as n from team");
    if (std::abs(paid - accounts) > kTolerance * std::max(paid, accounts)) {
        findings.bad(fmt::format("contributions are worth {:.10g} credits, and all accounts, with "
                                 "the deleted ones, have {:.10g}",
                                 paid, accounts),
                     "compare with a backup");
    }
    if (teams > paid * (1 + kTolerance)) {
        findings.bad(fmt::format("teams have {:.10g} credits, more than the {:.10g} of all "
                                 "contributions",
                                 teams, paid),
                     "compare with a backup");
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("accounts have the {:.10g} credits of all contributions", paid));
    }
}

/// A payment goes to an account and to one of its computers. A computer that was deleted has taken
/// its part with it, so the account may have more.
void check_hosts(server::Database& database, Findings& findings) {
    for (const auto& row : database.query(
             fmt::format("select u.id, u.total_credit, h.credit from user u join (select userid, "
                         "sum(total_credit) as credit from host group by userid) h on h.userid = "
                         "u.id where h.credit > u.total_credit * (1 + {}) order by u.id limit ?",
                         kTolerance),
             {kLines})) {
        findings.bad(fmt::format("the computers of account {} have {:.10g} credits, more than its "
                                 "{:.10g}",
                                 row.integer("id"), row.real("credit"), row.real("total_credit")),
                     "compare with a backup");
    }
    const auto missing = database.query_one(
        fmt::format("select count(*) as n, coalesce(min(u.id), 0) as id from user u left join "
                    "(select userid, sum(total_credit) as credit from host group by userid) h on "
                    "h.userid = u.id where coalesce(h.credit, 0) < u.total_credit * (1 - {})",
                    kTolerance));
    if (missing->integer("n") == 0) return;
    findings.warning(fmt::format("the computers of {} accounts (the first one is {}) have less "
                                 "credit than the account",
                                 missing->integer("n"), missing->integer("id")),
                     "right if computers were deleted or merged; else compare with a backup");
}

/// Rows that no correct payment leaves.
void check_payments(server::Database& database, Findings& findings) {
    for (const auto& row : database.query(
             fmt::format("select d.name, count(*) as n from dedloc_contribution c join dedloc_run "
                         "d on d.id = c.runid where (c.credit_state = ? and (c.resultid = 0 or "
                         "{})) or (c.credit_state <> ? and c.credit <> 0) group by d.name",
                         differ("c.credit",
                                "(c.samples * d.credit_per_sample + c.reduced_bytes * "
                                "d.credit_per_gigabyte_reduced / 1e9)")),
             {CreditState::kCredited, CreditState::kCredited})) {
        findings.bad(fmt::format("{} contributions to the run {} have another credit than their "
                                 "samples, reduced bytes and state say",
                                 row.integer("n"), row.text("name")),
                     "compare with a backup");
    }
}

}  // namespace

void check_credit(const Subject& subject, server::Database& database, Findings& findings) {
    const server::Transaction view{database};
    check_payments(database, findings);
    if (subject.is_official()) {
        return findings.unknown(
            "accounts also have credit of the server's other apps, so sums "
            "were not compared");
    }
    check_accounts(database, findings);
    check_hosts(database, findings);
    check_totals(database, findings);
}

}  // namespace dedloc::check
