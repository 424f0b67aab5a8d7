// pass() handles each due workunit in a transaction of its own: the row and then its results are
// locked and read in one message, decide_transition() decides, and the updates are deferred, that
// of the workunit last. libsched creates results on its own connection, outside that transaction;
// the next pass counts them, whatever became of it. A workunit that fails is put off by a minute,
// so it does not hold up the others; a failure of the database ends the pass.
#include "project_server/transitioner/transitioner.hpp"

#include <config.h>

#include <backend_lib.h>
#include <boinc_db.h>
#include <crypt.h>
#include <fmt/format.h>

#include "peer/base/log.hpp"
#include "project_server/database/states.hpp"
#include "project_server/transitioner/transition.hpp"

namespace dedloc::server {
namespace {

constexpr int kMaxAtOnce = 200;      // workunits per pass
constexpr std::int64_t kRetry = 60;  // seconds until a workunit that failed is handled again

}  // namespace

/// Creates result rows with libsched, on libsched's own connection, with certificates signed by the
/// upload key.
struct Transitioner::Libsched {
    explicit Libsched(const ProjectConfig& its) : project(its) {
        const auto key_file = (project.key_directory / "upload_private").string();
        if (!::config.dont_generate_upload_certificates &&
            read_key_file(key_file.c_str(), upload_key) != 0) {
            throw InputError(fmt::format("{} contains no BOINC key.", key_file));
        }
        open_boinc_database(project);
    }
    ~Libsched() { close_boinc_database(); }
    Libsched(const Libsched&) = delete;
    Libsched& operator=(const Libsched&) = delete;

    void create(std::int64_t workunit_id, int suffix) {
        DB_WORKUNIT workunit;
        if (workunit.lookup_id(static_cast<DB_ID_TYPE>(workunit_id)) != 0) {
            throw Error(fmt::format("workunit {} cannot be read", workunit_id));
        }
        std::string path = (project.directory / workunit.result_template_file).string();
        std::string suffix_text = std::to_string(suffix);
        const int failure = create_result(workunit, path.data(), suffix_text.data(), upload_key,
                                          ::config, nullptr, 0);
        if (failure != 0) {
            throw Error(fmt::format(
                "cannot create a result from the template {} (libsched error {})", path, failure));
        }
        log_info("result {}_{} created", workunit.name, suffix);
    }

    const ProjectConfig& project;
    R_RSA_PRIVATE_KEY upload_key{};
};

Transitioner::Transitioner(const ProjectConfig& project)
    : config_(project),
      database_(project.database),
      libsched_(std::make_unique<Libsched>(project)) {}

Transitioner::~Transitioner() = default;

int Transitioner::pass(std::int64_t now) {
    database_.ensure_connected();
    if (boinc_db.ping() != 0) open_boinc_database(config_);
    const Rows due = database_.query(
        "select id from workunit where transition_time <= ? order by transition_time limit ?",
        {now, kMaxAtOnce});
    for (const Row& row : due) {
        const std::int64_t workunit = row.integer("id");
        try {
            in_transaction(database_, [&] { handle(workunit, now); });
        } catch (const DatabaseError&) {
            throw;
        } catch (const Error& error) {
            log_error("workunit {}: {}", workunit, error.what());
            database_.execute("update workunit set transition_time = ? where id = ?",
                              {now + kRetry, workunit});
        }
    }
    return static_cast<int>(due.size());
}

void Transitioner::handle(std::int64_t workunit, std::int64_t now) {
    Batch batch{database_};
    batch.add("select * from workunit where id = ? for update", {workunit});
    batch.add(
        "select id, name, server_state, outcome, validate_state, report_deadline from result "
        "where workunitid = ? order by id for update",
        {workunit});
    const auto outcomes = batch.run();
    if (outcomes[0].rows.empty()) return;
    const Row* const row = &outcomes[0].rows.front();
    const auto integer = [&](std::string_view column) {
        return static_cast<int>(row->integer(column));
    };
    const WorkunitState state{
        .min_quorum = integer("min_quorum"),
        .target_results = integer("target_nresults"),
        .max_error_results = integer("max_error_results"),
        .max_total_results = integer("max_total_results"),
        .max_success_results = integer("max_success_results"),
        .error_mask = integer("error_mask"),
        .has_canonical = row->integer("canonical_resultid") != 0,
        .need_validate = integer("need_validate") != 0,
        .assimilate_state = state_of<AssimilateState>(*row, "assimilate_state"),
        .may_create = integer("transitioner_flags") == 0};
    std::vector<ResultState> results;
    for (const Row& result : outcomes[1].rows) {
        results.push_back({.id = result.integer("id"),
                           .name = result.text("name"),
                           .server_state = state_of<ServerState>(result, "server_state"),
                           .outcome = state_of<ResultOutcome>(result, "outcome"),
                           .validate_state = state_of<ValidateState>(result, "validate_state"),
                           .report_deadline = result.integer("report_deadline")});
    }
    const Transition transition = decide_transition(state, results, now);
    for (const auto id : transition.timed_out) {
        database_.defer("update result set server_state = ?, outcome = ? where id = ?",
                        {ServerState::kOver, ResultOutcome::kNoReply, id});
        log_info("result {} timed out", id);
    }
    for (const auto id : transition.not_needed) {
        database_.defer("update result set server_state = ?, outcome = ? where id = ?",
                        {ServerState::kOver, ResultOutcome::kNotNeeded, id});
    }
    for (const auto id : transition.unchecked) {
        database_.defer("update result set validate_state = ? where id = ?",
                        {ValidateState::kNoCheck, id});
    }
    for (int i = 0; i < transition.new_results; ++i) {
        libsched_->create(workunit, transition.first_suffix + i);
    }
    database_.defer(
        "update workunit set error_mask = ?, need_validate = ?, assimilate_state = ?, "
        "transition_time = ? where id = ?",
        {transition.error_mask, transition.need_validate ? 1 : 0, transition.assimilate_state,
         transition.transition_time, workunit});
}

}  // namespace dedloc::server
