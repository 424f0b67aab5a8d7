// A pass goes through the waiting workunits by id and judges each in one transaction, with its row
// locked and looked at again. judge() goes from cheap to dear: run, name of the output file, its
// bytes, the receipt's form and signature, the comparison with the ledger. A claim that is ahead of
// the database waits until the timeout. Results are written before the workunit, and the report
// counts a job only after the commit. ledger_of() explains why its three reads have their order.
#include "validators/validator.hpp"

#include <fmt/format.h>

#include <climits>
#include <ctime>
#include <optional>
#include <vector>

#include "peer/base/log.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/states.hpp"
#include "project_server/xml/job_documents.hpp"
#include "validators/output_file.hpp"

namespace dedloc::validation {
namespace {

constexpr std::size_t kJobsAtOnce = 1'000;

std::uint64_t count(const server::Row& row, std::string_view column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

/// The run that a job belongs to: the work generator puts dedloc_run.id into workunit.opaque.
struct RunRow {
    std::int64_t id = 0;
    RunId run;
    StepIndex last_step;
};

/// The columns of a workunit that a verdict reads and changes.
struct Workunit {
    std::int64_t id = 0;
    std::int64_t run = 0;
    std::int64_t canonical_result = 0;  ///< 0: none yet
    double canonical_credit = 0;
    server::AssimilateState assimilate_state = server::AssimilateState::kInit;
    std::int64_t transition_time = 0;
};

/// A finished result without a verdict.
struct FinishedResult {
    std::int64_t id = 0;
    std::string name;
    std::int64_t user = 0;
    std::int64_t host = 0;
    std::int64_t app_version = 0;
    std::int64_t received = 0;  ///< UTC seconds
    double granted_credit = 0;
    std::string files;  ///< result.xml_doc_in
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
    Pass(server::Database& database, const server::ProjectConfig& project,
         const ValidatorOptions& options)
        : database_(database), project_(project), options_(options) {}

    PassReport run() {
        for (const auto& app : database_.query(
                 fmt::format("select id from app where name in {}", server::kAppsInSql))) {
            judge_app(app.integer("id"));
        }
        return report_;
    }

  private:
    void judge_app(std::int64_t app) {
        std::int64_t last = 0;
        for (std::size_t jobs = kJobsAtOnce; jobs == kJobsAtOnce;) {
            const auto waiting = database_.query(
                "select id from workunit where appid = ? and need_validate = 1 and id > ? order by "
                "id limit ?",
                {app, last, kJobsAtOnce});
            for (const auto& row : waiting) judge_or_log(last = row.integer("id"));
            jobs = waiting.size();
        }
    }
    void judge_or_log(std::int64_t id);
    /// The verdicts on one job's results, within the open transaction.
    PassReport judge_workunit(std::int64_t id);
    std::vector<FinishedResult> unjudged_results(std::int64_t workunit);
    Decision judge(const Workunit& workunit, const FinishedResult& result);
    std::optional<RunRow> run_row(std::int64_t id);
    LedgerView ledger_of(const RunRow& run, const PeerKey& peer);
    void accept(Workunit& workunit, const FinishedResult& result);
    void refuse(Workunit& workunit, const FinishedResult& result, const std::string& reason);
    void note_on_host_app_version(const FinishedResult& result, bool is_valid);

    server::Database& database_;
    const server::ProjectConfig& project_;
    const ValidatorOptions& options_;
    PassReport report_;
};

void Validator::Pass::judge_or_log(std::int64_t id) {
    try {
        const PassReport job =
            server::in_transaction(database_, [&] { return judge_workunit(id); });
        options_.passing("committed");
        report_.valid += job.valid;
        report_.invalid += job.invalid;
        report_.waiting += job.waiting;
    } catch (const Error& error) {
        // A job that cannot be judged must not block the others.
        const auto* const failure = dynamic_cast<const server::DatabaseError*>(&error);
        if (failure != nullptr && failure->is_away()) throw;
        log_warning("Job {} cannot be judged now: {}", id, error.what());
        ++report_.waiting;
    }
}

PassReport Validator::Pass::judge_workunit(std::int64_t id) {
    PassReport report;
    const auto row = database_.query_one(
        "select need_validate, opaque, canonical_resultid, canonical_credit, assimilate_state, "
        "transition_time from workunit where id = ? for update",
        {id});
    // Another validator may have been faster.
    if (!row || row->integer("need_validate") == 0) return report;
    Workunit workunit{
        .id = id,
        .run = static_cast<std::int64_t>(row->real("opaque")),
        .canonical_result = row->integer("canonical_resultid"),
        .canonical_credit = row->real("canonical_credit"),
        .assimilate_state = server::state_of<server::AssimilateState>(*row, "assimilate_state"),
        .transition_time = row->integer("transition_time")};
    for (const FinishedResult& result : unjudged_results(id)) {
        const Decision decision = judge(workunit, result);
        switch (decision.kind) {
            case Decision::Kind::kValid:
                accept(workunit, result);
                ++report.valid;
                break;
            case Decision::Kind::kInvalid:
                refuse(workunit, result, decision.reason);
                ++report.invalid;
                break;
            case Decision::Kind::kWait:
                ++report.waiting;
                break;
        }
    }
    database_.execute(
        "update workunit set need_validate = ?, canonical_resultid = ?, canonical_credit = ?, "
        "assimilate_state = ?, transition_time = ? where id = ?",
        {report.waiting > 0 ? 1 : 0, workunit.canonical_result, workunit.canonical_credit,
         workunit.assimilate_state, workunit.transition_time, id});
    options_.passing("workunit updated");
    return report;
}

std::vector<FinishedResult> Validator::Pass::unjudged_results(std::int64_t workunit) {
    std::vector<FinishedResult> results;
    for (const auto& row : database_.query(
             "select id, name, userid, hostid, app_version_id, received_time, granted_credit, "
             "xml_doc_in from result where workunitid = ? and server_state = ? and outcome = ? and "
             "validate_state = ? order by id",
             {workunit, server::ServerState::kOver, server::ResultOutcome::kSuccess,
              server::ValidateState::kInit})) {
        results.push_back({.id = row.integer("id"),
                           .name = row.text("name"),
                           .user = row.integer("userid"),
                           .host = row.integer("hostid"),
                           .app_version = row.integer("app_version_id"),
                           .received = row.integer("received_time"),
                           .granted_credit = row.real("granted_credit"),
                           .files = row.text("xml_doc_in")});
    }
    return results;
}

Decision Validator::Pass::judge(const Workunit& workunit, const FinishedResult& result) {
    const auto run = run_row(workunit.run);
    if (!run) return invalid("its job belongs to no run of this project");
    const auto names = server::referenced_files(result.files);
    if (names.empty()) return invalid("its job has no output file");
    const auto bytes =
        read_output_file(output_file_path(project_, names.front()), formats::kMaxReceiptBytes);
    if (!bytes) return invalid(fmt::format("its output file {} was not uploaded", names.front()));
    const auto suspect = [&](const Refusal& refusal) {
        options_.suspect({.run = run->id,
                          .user = result.user,
                          .host = result.host,
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
        if (std::time(nullptr) - result.received > options_.timeout.count()) {
            return invalid("it claims steps that the ledger still does not have");
        }
        return {.kind = Decision::Kind::kWait};
    }
    return {.kind = Decision::Kind::kValid};
}

std::optional<RunRow> Validator::Pass::run_row(std::int64_t id) {
    const auto row = database_.query_one("select run_id, steps from dedloc_run where id = ?", {id});
    RunRow run{.id = id, .run = {}, .last_step = StepIndex{}};
    if (!row || !RunId::parse(row->text("run_id"), run.run)) return std::nullopt;
    run.last_step = StepIndex{count(*row, "steps")};
    return run;
}

LedgerView Validator::Pass::ledger_of(const RunRow& run, const PeerKey& peer) {
    LedgerView view;
    view.last_step = run.last_step;
    // Read the last recorded step first, then the lines: rows that arrive in between do no harm.
    // The compacted step is read last, since rows up to it may go at any time.
    const auto recorded = database_.query_one(
        "select coalesce(max(step), 0) as step from dedloc_step where runid = ?", {run.id});
    view.recorded = StepIndex{recorded ? count(*recorded, "step") : 0};
    for (const auto& row : database_.query(
             "select step, samples from dedloc_contribution where runid = ? and peer_key = ? and "
             "samples > 0",
             {run.id, peer.hex()})) {
        // The table's step counts updates done; a receipt's step is the state before the update.
        view.lines.push_back({.peer = peer,
                              .step = StepIndex{count(row, "step") - 1},
                              .samples = Samples{count(row, "samples")}});
    }
    const auto compacted =
        database_.query_one("select compacted from dedloc_run where id = ?", {run.id});
    view.compacted = StepIndex{compacted ? count(*compacted, "compacted") : 0};
    return view;
}

void Validator::Pass::accept(Workunit& workunit, const FinishedResult& result) {
    database_.execute("update result set validate_state = ? where id = ?",
                      {server::ValidateState::kValid, result.id});
    options_.passing("result marked");
    note_on_host_app_version(result, true);
    if (workunit.canonical_result == 0) {
        workunit.canonical_result = result.id;
        workunit.canonical_credit = result.granted_credit;
        workunit.assimilate_state = server::AssimilateState::kReady;
        // Once there is a canonical result, the assimilator triggers the transitioner.
        workunit.transition_time = INT_MAX;
        database_.execute(
            "update result set server_state = ?, outcome = ? where workunitid = ? and "
            "server_state = ?",
            {server::ServerState::kOver, server::ResultOutcome::kNotNeeded, workunit.id,
             server::ServerState::kUnsent});
    }
    log_info("{} of host {} is valid", result.name, result.host);
}

void Validator::Pass::refuse(Workunit& workunit, const FinishedResult& result,
                             const std::string& reason) {
    database_.execute(
        "update result set validate_state = ?, outcome = ? where id = ?",
        {server::ValidateState::kInvalid, server::ResultOutcome::kValidateError, result.id});
    options_.passing("result marked");
    note_on_host_app_version(result, false);
    if (workunit.canonical_result == 0) workunit.transition_time = std::time(nullptr);
    log_warning("{} of host {} is invalid: {}", result.name, result.host, reason);
}

/// Updates the statistics by which the scheduler recognises reliable hosts. The scheduler has made
/// the row when it sent the job.
void Validator::Pass::note_on_host_app_version(const FinishedResult& result, bool is_valid) {
    const std::string change =
        is_valid ? "consecutive_valid = consecutive_valid + 1, "
                   "max_jobs_per_day = max_jobs_per_day + 1"
                 : "consecutive_valid = 0, max_jobs_per_day = greatest(max_jobs_per_day - 1, 1)";
    database_.execute(
        "update host_app_version set " + change + " where host_id = ? and app_version_id = ?",
        {result.host, result.app_version});
}

Validator::Validator(server::Database& database, const server::ProjectConfig& project,
                     ValidatorOptions options)
    : database_(database), project_(project), options_(std::move(options)) {}

Validator::~Validator() = default;

PassReport Validator::pass() {
    return Pass{database_, project_, options_}.run();
}

}  // namespace dedloc::validation
