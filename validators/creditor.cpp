// pass() first makes contributions pending again whose revocation was withdrawn, then goes through
// the runs and, a page at a time, through the keys with pending rows; CreditBatch does the work.
// Keys go in ascending order, so a key that fails does not come again in this pass. heed_messages()
// marks messages as handled last: after a crash they are read again and find nothing left to
// credit. A key that fails is logged, and a lost connection ends the pass.
#include "validators/creditor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/log.hpp"
#include "peer/formats/receipt.hpp"
#include "project_server/database/states.hpp"
#include "project_server/database/text_columns.hpp"
#include "project_server/xml/job_documents.hpp"
#include "validators/credit_batch.hpp"

namespace dedloc::validation {
namespace {

constexpr std::size_t kKeysAtOnce = 500;
constexpr int kMessagesAtOnce = 100;

CreditRates rates_of(const server::Row& run) {
    constexpr double kGigabyte = 1e9;
    return {.of_sample = run.real("credit_per_sample"),
            .of_reduced_byte = run.real("credit_per_gigabyte_reduced") / kGigabyte};
}

}  // namespace

Creditor::Creditor(server::Database& database, CreditorOptions options)
    : database_(database), options_(std::move(options)) {}

CreditReport Creditor::pass() {
    CreditReport report;
    reconsider_withheld();
    for (const auto& run : database_.query(
             "select id, credit_per_sample, credit_per_gigabyte_reduced from dedloc_run")) {
        const std::int64_t id = run.integer("id");
        std::string last;
        for (bool is_more = true; is_more && !options_.must_stop();) {
            const auto keys = database_.query(
                "select distinct peer_key from dedloc_contribution where credit_state = ? and "
                "runid = ? and peer_key > ? order by peer_key limit ?",
                {server::CreditState::kPending, id, last, kKeysAtOnce});
            for (const auto& key : keys) {
                if (options_.must_stop()) break;
                credit_key(id, rates_of(run), key.text("peer_key"), report);
            }
            is_more = keys.size() == kKeysAtOnce;
            if (is_more) last = keys.back().text("peer_key");
        }
    }
    return report;
}

CreditReport Creditor::heed_messages() {
    CreditReport report;
    const auto messages = database_.query(
        "select id, hostid, left(xml, 1000) as xml from msg_from_host where handled = 0 and "
        "variety = ? order by id limit ?",
        {formats::kCreditMessage, kMessagesAtOnce});
    if (messages.empty()) return report;
    std::set<std::pair<std::int64_t, std::string>> jobs;  // host and result
    std::vector<std::int64_t> ids;
    for (const auto& message : messages) {
        ids.push_back(message.integer("id"));
        const std::string name = server::result_name_in(message.text("xml"));
        if (!name.empty()) jobs.emplace(message.integer("hostid"), name);
    }
    for (const auto& [host, name] : jobs) {
        if (options_.must_stop()) return report;
        for (const auto& row : database_.query(
                 "select t.runid, t.peer_key, d.credit_per_sample, d.credit_per_gigabyte_reduced "
                 "from result r join dedloc_ticket t on t.resultid = r.id join dedloc_run d on "
                 "d.id = t.runid join host h on h.id = ? and h.userid = r.userid where " +
                     server::same_text("r.name"),
                 {host, name, name})) {
            credit_key(row.integer("runid"), rates_of(row), row.text("peer_key"), report);
        }
    }
    // Last: after a crash they are heeded once more, and find nothing to credit.
    database_.execute(
        fmt::format("update msg_from_host set handled = 1 where id in ({})", fmt::join(ids, ", ")));
    options_.passing("messages handled");
    return report;
}

/// Contributions whose revocation has been withdrawn (`unban`) are pending again.
void Creditor::reconsider_withheld() {
    const auto forgiven = database_.query(
        "select w.runid, w.peer_key, w.kind, w.subject from dedloc_withheld w left join "
        "dedloc_revocation r on r.kind = w.kind and r.subject = w.subject where r.kind is null");
    for (const auto& row : forgiven) {
        const std::int64_t run = row.integer("runid");
        const std::string& key = row.text("peer_key");
        server::in_transaction(database_, [&] {
            database_.execute(
                "update dedloc_contribution set credit_state = ? where credit_state = ? and runid "
                "= ? and peer_key = ?",
                {server::CreditState::kPending, server::CreditState::kWithheld, run, key});
            options_.passing("withheld rows pending again");
            database_.execute(
                "delete from dedloc_withheld where runid = ? and peer_key = ? and kind = ? and "
                "subject = ?",
                {run, key, row.text("kind"), row.text("subject")});
            options_.passing("withholding deleted");
        });
        log_info(
            "the contributions of key {} to run {} are paid again: {} {} is not banned any more",
            key.substr(0, 8), run, row.text("kind"), row.text("subject"));
    }
}

void Creditor::credit_key(std::int64_t run, const CreditRates& rates, const std::string& key,
                          CreditReport& report) {
    const std::uint64_t before = report.contributions;
    CreditBatch batch{database_, options_, run, rates, key};
    try {
        while (batch.credit(report) && !options_.must_stop()) continue;
    } catch (const Error& error) {
        // A key that cannot be credited must not block the others.
        const auto* const failure = dynamic_cast<const server::DatabaseError*>(&error);
        if (failure != nullptr && failure->is_away()) throw;
        log_warning("Key {} of run {} cannot be credited now: {}", key.substr(0, 8), run,
                    error.what());
    }
    if (report.contributions > before) ++report.seats;
}

}  // namespace dedloc::validation
