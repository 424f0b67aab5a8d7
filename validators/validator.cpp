#include "validators/validator.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <boinc_db.h>
#include <credit.h>
#include <error_numbers.h>
#include <fmt/format.h>
#include <sched_config.h>
#include <sched_util.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <vector>

#include "peer/base/log.hpp"
#include "validators/output_file.hpp"

namespace dedloc::validation {
namespace {

using Id = DB_ID_TYPE;

std::uint64_t whole(const std::string& text) {
    return std::strtoull(text.c_str(), nullptr, 10);
}

/// The run that a job belongs to: the work generator puts dedloc_run.id into workunit.opaque.
struct RunRow {
    std::int64_t id = 0;
    RunId run;
    StepIndex last_step;
};

struct Decision {
    enum class Kind : std::uint8_t { kValid, kInvalid, kWait };
    Kind kind = Kind::kInvalid;
    std::string reason{};
};

Decision invalid(std::string reason) {
    return {.kind = Decision::Kind::kInvalid, .reason = std::move(reason)};
}

}  // namespace

/// One pass over the waiting jobs.
class Validator::Pass {
  public:
    Pass(BoincConnection& connection, const ValidatorOptions& options)
        : connection_(connection), options_(options) {}

    PassReport run() {
        const auto apps =
            connection_.query(fmt::format("select id from app where name = '{}'", options_.app));
        if (apps.empty()) return report_;
        for (const Id workunit : waiting_workunits(static_cast<Id>(whole(apps[0][0])))) {
            try {
                judge_workunit(workunit);
            } catch (const Error& error) {
                // A job that cannot be judged must not block the others.
                if (boinc_db.ping() != 0) throw;
                log_warning("Job {} cannot be judged now: {}", workunit, error.what());
                ++report_.waiting;
            }
        }
        return report_;
    }

  private:
    std::vector<Id> waiting_workunits(Id app);
    void judge_workunit(Id id);
    std::vector<RESULT> unjudged_results(Id workunit);
    Decision judge(const WORKUNIT& workunit, const RESULT& result);
    std::optional<RunRow> run_row(std::int64_t id);
    LedgerView ledger_of(const RunRow& run, const PeerKey& peer);
    void accept(WORKUNIT& workunit, DB_RESULT& result);
    void refuse(WORKUNIT& workunit, DB_RESULT& result, const std::string& reason);
    void note_on_host_app_version(const RESULT& result, bool is_valid);

    BoincConnection& connection_;
    const ValidatorOptions& options_;
    PassReport report_;
};

std::vector<Id> Validator::Pass::waiting_workunits(Id app) {
    constexpr int kMaxResults = 1'000;
    DB_VALIDATOR_ITEM_SET set;
    std::vector<VALIDATOR_ITEM> items;
    std::vector<Id> ids;
    int status = 0;
    while ((status = set.enumerate(app, kMaxResults, 0, 0, 0, 0, items)) == 0) {
        const Id id = items.front().wu.id;
        // After the last job libsched starts again with the jobs that still wait.
        if (std::ranges::find(ids, id) != ids.end()) break;
        ids.push_back(id);
    }
    if (status == 0) return ids;
    if (status != ERR_DB_NOT_FOUND) require_ok(status, "list the waiting jobs");
    return ids;
}

void Validator::Pass::judge_workunit(Id id) {
    BoincTransaction transaction;
    DB_WORKUNIT workunit;
    require_ok(workunit.lookup(fmt::format("where id = {} for update", id).c_str()),
               "lock a workunit");
    if (!workunit.need_validate) return;  // another validator was faster
    bool is_waiting = false;
    for (RESULT& row : unjudged_results(id)) {
        DB_RESULT result;
        result = row;
        const Decision decision = judge(workunit, row);
        switch (decision.kind) {
            case Decision::Kind::kValid:
                accept(workunit, result);
                break;
            case Decision::Kind::kInvalid:
                refuse(workunit, result, decision.reason);
                break;
            case Decision::Kind::kWait:
                is_waiting = true;
                ++report_.waiting;
                break;
        }
    }
    require_ok(
        workunit.update_field(
            fmt::format("need_validate={}, canonical_resultid={}, canonical_credit={:.15e}, "
                        "assimilate_state={}, transition_time={}",
                        is_waiting ? 1 : 0, workunit.canonical_resultid, workunit.canonical_credit,
                        workunit.assimilate_state, workunit.transition_time)
                .c_str()),
        "update a workunit");
    options_.passing("workunit updated");
    transaction.commit();
    options_.passing("committed");
}

std::vector<RESULT> Validator::Pass::unjudged_results(Id workunit) {
    DB_RESULT cursor;
    std::vector<RESULT> results;
    const std::string clause = fmt::format(
        "where workunitid = {} and server_state = {} and outcome = {} and "
        "validate_state = {}",
        workunit, RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_SUCCESS, VALIDATE_STATE_INIT);
    int status = 0;
    while ((status = cursor.enumerate(clause.c_str())) == 0) results.push_back(cursor);
    if (status != ERR_DB_NOT_FOUND) require_ok(status, "read a workunit's results");
    return results;
}

Decision Validator::Pass::judge(const WORKUNIT& workunit, const RESULT& result) {
    const auto run = run_row(static_cast<std::int64_t>(workunit.opaque));
    if (!run) return invalid("its job belongs to no run of this project");
    const auto name = output_file_name(result.xml_doc_in);
    if (!name) return invalid("its job has no output file");
    const auto bytes = read_output_file(output_file_path(*name), formats::kMaxReceiptBytes);
    if (!bytes) return invalid(fmt::format("its output file {} was not uploaded", *name));
    const auto suspect = [&](const Refusal& refusal) {
        options_.suspect({.run = run->id,
                          .user = result.userid,
                          .host = result.hostid,
                          .result_name = result.name,
                          .refusal = refusal,
                          .bytes = *bytes});
        return invalid(refusal.reason);
    };
    const auto receipt = read_receipt(*bytes, {.run = run->run, .result_name = result.name});
    if (!receipt) return suspect(receipt.reason());
    const auto answer = compare(*receipt, ledger_of(*run, receipt->peer));
    if (!answer) return suspect(answer.reason());
    if (*answer == Answer::kTooSoon) {
        if (std::time(nullptr) - result.received_time > options_.timeout.count()) {
            return invalid("it claims steps that the ledger still does not have");
        }
        return {.kind = Decision::Kind::kWait};
    }
    return {.kind = Decision::Kind::kValid};
}

std::optional<RunRow> Validator::Pass::run_row(std::int64_t id) {
    const auto rows =
        connection_.query(fmt::format("select run_id, steps from dedloc_run where id = {}", id));
    RunRow run{.id = id, .run = {}, .last_step = StepIndex{}};
    if (rows.empty() || !RunId::parse(rows[0][0], run.run)) return std::nullopt;
    run.last_step = StepIndex{whole(rows[0][1])};
    return run;
}

LedgerView Validator::Pass::ledger_of(const RunRow& run, const PeerKey& peer) {
    LedgerView view;
    view.last_step = run.last_step;
    // Read the last recorded step first, then the lines: rows that arrive in between do no harm.
    // The compacted step is read last, since rows up to it may go at any time.
    const auto recorded = connection_.query(
        fmt::format("select coalesce(max(step), 0) from dedloc_step where runid = {}", run.id));
    view.recorded = StepIndex{whole(recorded.at(0).at(0))};
    const auto rows = connection_.query(
        fmt::format("select step, samples from dedloc_contribution where runid = {} and "
                    "peer_key = '{}'",
                    run.id, peer.hex()));
    for (const auto& row : rows) {
        // The table's step counts updates done; a receipt's step is the state before the update.
        view.lines.push_back({.peer = peer,
                              .step = StepIndex{whole(row[0]) - 1},
                              .samples = Samples{whole(row[1])}});
    }
    const auto compacted =
        connection_.query(fmt::format("select compacted from dedloc_run where id = {}", run.id));
    view.compacted = StepIndex{whole(compacted.at(0).at(0))};
    return view;
}

void Validator::Pass::accept(WORKUNIT& workunit, DB_RESULT& result) {
    require_ok(
        result.update_field(fmt::format("validate_state = {}", VALIDATE_STATE_VALID).c_str()),
        "mark a result valid");
    options_.passing("result marked");
    note_on_host_app_version(result, true);
    if (workunit.canonical_resultid == 0) {
        workunit.canonical_resultid = result.id;
        workunit.canonical_credit = result.granted_credit;
        workunit.assimilate_state = ASSIMILATE_READY;
        // Once there is a canonical result, the assimilator triggers the transitioner.
        workunit.transition_time = INT_MAX;
        connection_.execute(
            fmt::format("update result set server_state = {}, outcome = {} where workunitid = {} "
                        "and server_state = {}",
                        RESULT_SERVER_STATE_OVER, RESULT_OUTCOME_DIDNT_NEED, workunit.id,
                        RESULT_SERVER_STATE_UNSENT));
    }
    ++report_.valid;
    log_info("{} of host {} is valid", result.name, result.hostid);
}

void Validator::Pass::refuse(WORKUNIT& workunit, DB_RESULT& result, const std::string& reason) {
    require_ok(
        result.update_field(fmt::format("validate_state = {}, outcome = {}", VALIDATE_STATE_INVALID,
                                        RESULT_OUTCOME_VALIDATE_ERROR)
                                .c_str()),
        "mark a result invalid");
    options_.passing("result marked");
    note_on_host_app_version(result, false);
    if (workunit.canonical_resultid == 0) {
        workunit.transition_time = static_cast<int>(std::time(nullptr));
    }
    ++report_.invalid;
    log_warning("{} of host {} is invalid: {}", result.name, result.hostid, reason);
}

/// Updates the statistics by which the scheduler recognises reliable hosts.
void Validator::Pass::note_on_host_app_version(const RESULT& result, bool is_valid) {
    DB_HOST_APP_VERSION version;
    if (hav_lookup(version, result.hostid, result.app_version_id) != 0) return;
    const std::string change =
        is_valid ? "consecutive_valid = consecutive_valid + 1, "
                   "max_jobs_per_day = max_jobs_per_day + 1"
                 : "consecutive_valid = 0, max_jobs_per_day = greatest(max_jobs_per_day - 1, 1)";
    require_ok(version.update_fields_noid(change.c_str(),
                                          fmt::format("host_id = {} and app_version_id = {}",
                                                      version.host_id, version.app_version_id)
                                              .c_str()),
               "note a verdict on the host");
}

Validator::Validator(BoincConnection& connection, ValidatorOptions options)
    : connection_(connection), options_(std::move(options)) {}

Validator::~Validator() = default;

PassReport Validator::pass() {
    return Pass{connection_, options_}.run();
}

}  // namespace dedloc::validation
