// A batch is read by the primary key from where the last one ended, because rows that stay (those
// of banned peers) would otherwise be read again by every batch. After the last row it begins anew:
// a withheld row may have been paid since.
#include "project_server/purge/compaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "project_server/database/states.hpp"

namespace dedloc::purge {
namespace {

using server::CreditState;

constexpr int kBatches = 20;  ///< transactions for each run in a pass
constexpr std::int64_t kStepsAtOnce = 10'000;
constexpr std::int64_t kDaySeconds = 86'400;  ///< seconds

/// A row of dedloc_daily_credit.
struct Sum {
    std::int64_t contributions = 0;
    std::int64_t samples = 0;
    std::int64_t unowned = 0;
    std::int64_t reduced_bytes = 0;
    std::int64_t unowned_bytes = 0;
    double credit = 0;
};

}  // namespace

int Compaction::pass(std::int64_t before) {
    int count = 0;
    for (const server::Row& run : database_.query("select id from dedloc_run")) {
        const std::int64_t id = run.integer("id");
        raise_mark(id, before);
        for (int i = 0; i < kBatches; ++i) {
            const int replaced = replace_batch(id);
            count += replaced;
            if (replaced < batch_) break;
        }
    }
    return count;
}

/// Up to the step before the first contribution that is young or pending. The run's row is locked,
/// so the recorder is in no transaction that has read the old mark.
void Compaction::raise_mark(std::int64_t run, std::int64_t before) {
    server::in_transaction(database_, [&] {
        const auto row =
            database_.query_one("select compacted from dedloc_run where id = ? for update", {run});
        if (!row) return;
        const std::int64_t mark = row->integer("compacted");
        const std::int64_t end = mark + kStepsAtOnce;
        const auto first = database_.query_one(
            "select step from dedloc_contribution where runid = ? and step > ? and step <= ? and "
            "(committed_at >= ? or credit_state = ?) order by step limit 1",
            {run, mark, end, before, CreditState::kPending});
        const auto last = database_.query_one(
            "select step from dedloc_contribution where runid = ? and step > ? and step <= ? "
            "order by step desc limit 1",
            {run, mark, end});
        if (!last) return;
        const std::int64_t next = first ? first->integer("step") - 1 : last->integer("step");
        if (next <= mark) return;
        database_.execute("update dedloc_run set compacted = ? where id = ?", {next, run});
    });
}

int Compaction::replace_batch(std::int64_t run) {
    std::int64_t& next = next_step_[run];
    return server::in_transaction(database_, [&] {
        using Day = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // user, host, day
        std::map<Day, Sum> sums;
        const auto mark =
            database_.query_one("select compacted from dedloc_run where id = ?", {run});
        // The subqueries are read without locks: neither tickets nor results change their owners.
        const auto rows = database_.query(
            "select c.step, c.peer_key, c.samples, c.reduced_bytes, c.credit, c.credit_state, "
            "floor(c.committed_at / ?) as day, coalesce((select nullif(t.userid, 0) from "
            "dedloc_ticket t where t.runid = c.runid and t.peer_key = c.peer_key), (select "
            "r.userid from result r where r.id = c.resultid), 0) as user, coalesce((select "
            "nullif(t.hostid, 0) from dedloc_ticket t where t.runid = c.runid and t.peer_key = "
            "c.peer_key), (select r.hostid from result r where r.id = c.resultid), 0) as host "
            "from dedloc_contribution c where c.runid = ? and c.step >= ? and c.step <= ? and "
            "c.credit_state in (?, ?) order by c.step, c.peer_key limit ? for update",
            {kDaySeconds, run, next, mark ? mark->integer("compacted") : 0, CreditState::kCredited,
             CreditState::kUnowned, batch_});
        for (const server::Row& row : rows) {
            const bool is_credited =
                server::state_of<CreditState>(row, "credit_state") == CreditState::kCredited;
            Sum& sum =
                sums[is_credited ? Day{row.integer("user"), row.integer("host"), row.integer("day")}
                                 : Day{0, 0, row.integer("day")}];
            ++sum.contributions;
            (is_credited ? sum.samples : sum.unowned) += row.integer("samples");
            (is_credited ? sum.reduced_bytes : sum.unowned_bytes) += row.integer("reduced_bytes");
            sum.credit += row.real("credit");
            database_.execute(
                "delete from dedloc_contribution where runid = ? and step = ? and peer_key = ?",
                {run, row.integer("step"), row.text("peer_key")});
        }
        for (const auto& [day, sum] : sums) {
            database_.execute(
                "insert into dedloc_daily_credit (runid, userid, hostid, day, contributions, "
                "samples, unowned, reduced_bytes, unowned_bytes, credit) values (?, ?, ?, ?, ?, "
                "?, ?, ?, ?, ?) on duplicate key update "
                "contributions = contributions + values(contributions), "
                "samples = samples + values(samples), unowned = unowned + values(unowned), "
                "reduced_bytes = reduced_bytes + values(reduced_bytes), "
                "unowned_bytes = unowned_bytes + values(unowned_bytes), "
                "credit = credit + values(credit)",
                {run, std::get<0>(day), std::get<1>(day), std::get<2>(day), sum.contributions,
                 sum.samples, sum.unowned, sum.reduced_bytes, sum.unowned_bytes, sum.credit});
        }
        const bool is_full = rows.size() == static_cast<std::size_t>(batch_);
        next = is_full ? rows.back().integer("step") : 0;
        return static_cast<int>(rows.size());
    });
}

}  // namespace dedloc::purge
