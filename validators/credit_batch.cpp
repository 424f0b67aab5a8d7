#include "validators/credit_batch.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <boinc_db.h>
#include <credit.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched_config.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "peer/base/log.hpp"

namespace dedloc::validation {
namespace {

constexpr double kDay = 86'400;  // seconds

double real(const std::string& text) {
    return std::strtod(text.c_str(), nullptr);
}
std::int64_t integer(const std::string& text) {
    return std::strtoll(text.c_str(), nullptr, 10);
}
double now() {
    return static_cast<double>(std::time(nullptr));
}

}  // namespace

bool is_plain_word(const std::string& text) {
    return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool CreditBatch::credit(CreditReport& report) {
    BoincTransaction transaction;
    const auto owner = find_owner();
    if (owner) lock(*owner);
    const Contributions rows = lock_contributions();
    if (rows.empty()) return false;
    CreditReport batch = report;
    if (!owner) {
        disown(rows, batch);
    } else {
        const auto revocation = find_revocation(*owner);
        Contributions payable;
        Contributions late;
        for (const auto& row : rows) {
            const bool is_late = revocation && row.committed_at >= revocation->since;
            (is_late ? late : payable).push_back(row);
        }
        if (!payable.empty()) pay(*owner, payable, batch);
        if (!late.empty()) withhold(*revocation, late, batch);
    }
    transaction.commit();
    options_.passing("committed");
    report = batch;
    return rows.size() == static_cast<std::size_t>(options_.batch);
}

void CreditBatch::write(const std::string& sql, std::string_view place) {
    connection_.execute(sql);
    options_.passing(place);
}

/// The ticket names the job, and result.hostid the host as of the last report. After the result has
/// been deleted the ticket's copies are used. Tickets of earlier versions have no copies.
std::optional<CreditBatch::Owner> CreditBatch::find_owner() {
    const auto rows = connection_.query(
        fmt::format("select t.resultid, r.workunitid, coalesce(r.hostid, t.hostid), "
                    "coalesce(r.userid, t.userid), coalesce(r.sent_time, t.sent) "
                    "from dedloc_ticket t left join result r on r.id = t.resultid "
                    "where t.runid = {} and t.peer_key = '{}'",
                    run_, key_));
    if (rows.empty()) return std::nullopt;
    const auto& row = rows.front();
    const Owner owner{.result = integer(row[0]),
                      .workunit = integer(row[1]),
                      .host = integer(row[2]),
                      .user = integer(row[3]),
                      .sent = real(row[4])};
    const auto user =
        connection_.query(fmt::format("select id from user where id = {}", owner.user));
    if (user.empty()) return std::nullopt;
    return owner;
}

void CreditBatch::lock(const Owner& owner) {
    if (owner.workunit != 0) {
        connection_.query(
            fmt::format("select id from workunit where id = {} for update", owner.workunit));
        connection_.query(
            fmt::format("select id from result where id = {} for update", owner.result));
    }
}

CreditBatch::Contributions CreditBatch::lock_contributions() {
    Contributions contributions;
    for (const auto& row : connection_.query(fmt::format(
             "select step, samples, committed_at from dedloc_contribution where credit_state = {} "
             "and runid = {} and peer_key = '{}' order by step limit {} for update",
             static_cast<int>(CreditState::kPending), run_, key_, options_.batch))) {
        contributions.push_back({.step = std::strtoull(row[0].c_str(), nullptr, 10),
                                 .samples = std::strtoull(row[1].c_str(), nullptr, 10),
                                 .committed_at = real(row[2])});
    }
    return contributions;
}

std::optional<CreditBatch::Revocation> CreditBatch::find_revocation(const Owner& owner) {
    const auto rows = connection_.query(
        fmt::format("select kind, subject, since from dedloc_revocation where "
                    "(kind = 'user' and subject = '{}') or (kind = 'host' and subject = '{}') or "
                    "(kind = 'key' and subject = '{}')",
                    owner.user, owner.host, key_));
    std::optional<Revocation> earliest;
    for (const auto& row : rows) {
        const double since = real(row[2]);
        if (earliest && earliest->since <= since) continue;
        earliest = Revocation{.kind = row[0], .subject = row[1], .since = since};
    }
    return earliest;
}

void CreditBatch::set_state(CreditState state, const Contributions& rows, const std::string& more) {
    std::vector<std::uint64_t> steps;
    for (const auto& row : rows) steps.push_back(row.step);
    write(fmt::format("update dedloc_contribution set credit_state = {}{} where runid = {} and "
                      "peer_key = '{}' and step in ({})",
                      static_cast<int>(state), more, run_, key_, fmt::join(steps, ", ")),
          "rows marked");
}

void CreditBatch::pay(const Owner& owner, const Contributions& rows, CreditReport& report) {
    // The samples are added as integers, so that a batch is rounded once.
    std::uint64_t samples = 0;
    for (const auto& row : rows) samples += row.samples;
    const double credit = static_cast<double>(samples) * credit_per_sample_;
    set_state(CreditState::kCredited, rows,
              fmt::format(", resultid = {}, credit = samples * {:.17g}", owner.result,
                          credit_per_sample_));
    if (owner.workunit != 0) {
        write(fmt::format("update result set granted_credit = granted_credit + {:.17g} where "
                          "id = {}",
                          credit, owner.result),
              "result credited");
        write(fmt::format("update workunit set canonical_credit = canonical_credit + {:.17g} "
                          "where id = {} and canonical_resultid = {}",
                          credit, owner.workunit, owner.result),
              "workunit credited");
    }
    grant(owner, credit);
    report.contributions += rows.size();
    report.credit += credit;
}

/// Grants the credit to the host, its user and the user's team, with BOINC's averages. A host that
/// has been merged into another or deleted gets nothing; its user and team do.
void CreditBatch::grant(const Owner& owner, double credit) {
    DB_HOST host;
    const bool has_host =
        host.lookup(fmt::format("where id = {} for update", owner.host).c_str()) == 0 &&
        host.userid == owner.user;
    if (!has_host) {
        host.clear();
        host.userid = static_cast<DB_ID_TYPE>(owner.user);
    }
    // libsched reads the averages and writes them back.
    const auto user = connection_.query(
        fmt::format("select teamid from user where id = {} for update", owner.user));
    const std::int64_t team = user.empty() ? 0 : integer(user[0][0]);
    if (team != 0) {
        connection_.query(fmt::format("select id from team where id = {} for update", team));
    }
    HOST former = host;
    // The first grant's average is credit ÷ time since then: a batch of minutes must not be
    // extrapolated to a day's work.
    const double start = std::min(owner.sent > 0 ? owner.sent : now(), now() - kDay);
    require_ok(grant_credit(host, start, credit), "grant credit");
    options_.passing("user and team granted");
    if (has_host) {
        require_ok(host.update_diff_validator(former), "write a host's credit");
        options_.passing("host granted");
    }
    if (::config.credit_by_app && owner.workunit != 0) {
        DB_RESULT result;
        require_ok(result.lookup_id(static_cast<DB_ID_TYPE>(owner.result)), "read a result");
        require_ok(grant_credit_by_app(result, credit), "grant credit by app");
        options_.passing("credit by app granted");
    }
}

void CreditBatch::withhold(const Revocation& revocation, const Contributions& rows,
                           CreditReport& report) {
    if (!is_plain_word(revocation.kind) || !is_plain_word(revocation.subject)) {
        throw BoincError("A revocation has an invalid subject.");
    }
    std::uint64_t samples = 0;
    for (const auto& row : rows) samples += row.samples;
    set_state(CreditState::kWithheld, rows, "");
    write(fmt::format("insert into dedloc_withheld (runid, peer_key, kind, subject, since, "
                      "contributions, samples, noted) values ({}, '{}', '{}', '{}', {:.0f}, {}, "
                      "{}, {}) on duplicate key update contributions = contributions + "
                      "values(contributions), samples = samples + values(samples)",
                      run_, key_, revocation.kind, revocation.subject, revocation.since,
                      rows.size(), samples, std::time(nullptr)),
          "withholding noted");
    report.withheld += rows.size();
    log_warning("{} samples of key {} in run {} are withheld: {} {} was revoked before them",
                samples, key_.substr(0, 8), run_, revocation.kind, revocation.subject);
}

void CreditBatch::disown(const Contributions& rows, CreditReport& report) {
    const auto known = connection_.query(fmt::format(
        "select step from dedloc_contribution where credit_state = {} and runid = {} and "
        "peer_key = '{}' limit 1",
        static_cast<int>(CreditState::kUnowned), run_, key_));
    set_state(CreditState::kUnowned, rows, "");
    report.unowned += rows.size();
    if (known.empty()) {
        log_info("key {} of run {} earns no credit: it has no ticket of an account here",
                 key_.substr(0, 8), run_);
    }
}

}  // namespace dedloc::validation
