// A batch is one transaction: it finds the key's owner, locks workunit, result and contributions in
// this order, and divides the rows at the moment of a revocation into paid and withheld ones;
// without an owner all are disowned. Paying marks the rows before it adds the sum to result,
// workunit, host, user and team. Sums are made as integers and rounded once. A transaction may be
// tried again after a conflict, so each try counts in a fresh copy of the report, which is kept
// after the commit.
#include "validators/credit_batch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

#include "peer/base/log.hpp"
#include "validators/grants.hpp"

namespace dedloc::validation {
namespace {

std::uint64_t count_in(const server::Row& row, std::string_view column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

}  // namespace

bool CreditBatch::credit(CreditReport& report) {
    CreditReport batch;
    const bool is_more = server::in_transaction(database_, [&] {
        batch = report;
        return credit_locked(batch);
    });
    options_.passing("committed");
    report = batch;
    return is_more;
}

bool CreditBatch::credit_locked(CreditReport& report) {
    const auto owner = find_owner();
    if (owner) lock(*owner);
    const Contributions rows = lock_contributions();
    if (rows.empty()) return false;
    if (!owner) {
        disown(rows, report);
    } else {
        const auto revocation = find_revocation(*owner);
        Contributions payable;
        Contributions late;
        for (const auto& row : rows) {
            const bool is_late =
                revocation && row.committed_at >= static_cast<double>(revocation->since);
            (is_late ? late : payable).push_back(row);
        }
        if (!payable.empty()) pay(*owner, payable, report);
        if (!late.empty()) withhold(*revocation, late, report);
    }
    return rows.size() == static_cast<std::size_t>(options_.batch);
}

void CreditBatch::write(std::string_view sql, server::Parameters parameters,
                        std::string_view place) {
    database_.execute(sql, parameters);
    options_.passing(place);
}

/// The ticket names the job, and result.hostid the host as of the last report. After the result has
/// been deleted the ticket's copies are used. Tickets of earlier versions have no copies.
std::optional<CreditBatch::Owner> CreditBatch::find_owner() {
    const auto row = database_.query_one(
        "select t.resultid, r.workunitid, coalesce(r.hostid, t.hostid) as host, "
        "coalesce(r.userid, t.userid) as user, coalesce(r.sent_time, t.sent) as sent from "
        "dedloc_ticket t left join result r on r.id = t.resultid where t.runid = ? and "
        "t.peer_key = ?",
        {run_, key_});
    if (!row) return std::nullopt;
    const Owner owner{.result = row->integer("resultid"),
                      .workunit = row->integer("workunitid"),
                      .host = row->integer("host"),
                      .user = row->integer("user"),
                      .sent = row->real("sent")};
    if (!database_.query_one("select id from user where id = ?", {owner.user})) return std::nullopt;
    return owner;
}

void CreditBatch::lock(const Owner& owner) {
    if (owner.workunit == 0) return;
    database_.query("select id from workunit where id = ? for update", {owner.workunit});
    database_.query("select id from result where id = ? for update", {owner.result});
}

CreditBatch::Contributions CreditBatch::lock_contributions() {
    Contributions contributions;
    for (const auto& row : database_.query(
             "select step, samples, committed_at, reduced_bytes from dedloc_contribution where "
             "credit_state = ? and runid = ? and peer_key = ? order by step limit ? for update",
             {server::CreditState::kPending, run_, key_, options_.batch})) {
        contributions.push_back({.step = count_in(row, "step"),
                                 .samples = count_in(row, "samples"),
                                 .reduced_bytes = count_in(row, "reduced_bytes"),
                                 .committed_at = row.real("committed_at")});
    }
    return contributions;
}

std::optional<CreditBatch::Revocation> CreditBatch::find_revocation(const Owner& owner) {
    const auto rows = database_.query(
        "select kind, subject, since from dedloc_revocation where (kind = 'user' and subject = ?) "
        "or (kind = 'host' and subject = ?) or (kind = 'key' and subject = ?)",
        {std::to_string(owner.user), std::to_string(owner.host), key_});
    std::optional<Revocation> earliest;
    for (const auto& row : rows) {
        const std::int64_t since = row.integer("since");
        if (earliest && earliest->since <= since) continue;
        earliest =
            Revocation{.kind = row.text("kind"), .subject = row.text("subject"), .since = since};
    }
    return earliest;
}

CreditBatch::Work CreditBatch::sum_of(const Contributions& rows) {
    Work work;
    for (const auto& row : rows) {
        work.samples += row.samples;
        work.reduced_bytes += row.reduced_bytes;
    }
    return work;
}

void CreditBatch::set_state(server::CreditState state, const Contributions& rows,
                            const Owner* paid_to) {
    std::vector<std::uint64_t> steps;
    for (const auto& row : rows) steps.push_back(row.step);
    const std::string where =
        fmt::format(" where runid = ? and peer_key = ? and step in ({})", fmt::join(steps, ", "));
    if (paid_to == nullptr) {
        write("update dedloc_contribution set credit_state = ?" + where, {state, run_, key_},
              "rows marked");
        return;
    }
    write(
        "update dedloc_contribution set credit_state = ?, resultid = ?, credit = samples * ? + "
        "reduced_bytes * ?" +
            where,
        {state, paid_to->result, rates_.of_sample, rates_.of_reduced_byte, run_, key_},
        "rows marked");
}

void CreditBatch::pay(const Owner& owner, const Contributions& rows, CreditReport& report) {
    // Samples and bytes are added as integers, so that a batch is rounded once.
    const Work work = sum_of(rows);
    const double credit = static_cast<double>(work.samples) * rates_.of_sample +
                          static_cast<double>(work.reduced_bytes) * rates_.of_reduced_byte;
    set_state(server::CreditState::kCredited, rows, &owner);
    const bool has_result = owner.workunit != 0;
    if (has_result) {
        write("update result set granted_credit = granted_credit + ? where id = ?",
              {credit, owner.result}, "result credited");
        write(
            "update workunit set canonical_credit = canonical_credit + ? where id = ? and "
            "canonical_resultid = ?",
            {credit, owner.workunit, owner.result}, "workunit credited");
    }
    const Grant grant{.result = owner.result,
                      .host = owner.host,
                      .user = owner.user,
                      .started = owner.sent,
                      .credit = credit};
    grant_credit(database_, grant, options_.passing);
    if (options_.credit_by_app && has_result) {
        grant_credit_by_app(database_, grant, options_.passing);
    }
    report.contributions += rows.size();
    report.credit += credit;
}

void CreditBatch::withhold(const Revocation& revocation, const Contributions& rows,
                           CreditReport& report) {
    const Work work = sum_of(rows);
    set_state(server::CreditState::kWithheld, rows);
    write(
        "insert into dedloc_withheld (runid, peer_key, kind, subject, since, contributions, "
        "samples, reduced_bytes, noted) values (?, ?, ?, ?, ?, ?, ?, ?, ?) on duplicate key update "
        "contributions = contributions + values(contributions), samples = samples + "
        "values(samples), reduced_bytes = reduced_bytes + values(reduced_bytes)",
        {run_, key_, revocation.kind, revocation.subject, revocation.since, rows.size(),
         work.samples, work.reduced_bytes, std::time(nullptr)},
        "withholding noted");
    report.withheld += rows.size();
    log_warning(
        "{} samples and {} reduced bytes of key {} in run {} are withheld: {} {} was revoked "
        "before them",
        work.samples, work.reduced_bytes, key_.substr(0, 8), run_, revocation.kind,
        revocation.subject);
}

void CreditBatch::disown(const Contributions& rows, CreditReport& report) {
    const auto known = database_.query_one(
        "select step from dedloc_contribution where credit_state = ? and runid = ? and peer_key = "
        "? limit 1",
        {server::CreditState::kUnowned, run_, key_});
    set_state(server::CreditState::kUnowned, rows);
    report.unowned += rows.size();
    if (!known) {
        log_info("key {} of run {} earns no credit: it has no ticket of an account here",
                 key_.substr(0, 8), run_);
    }
}

}  // namespace dedloc::validation
