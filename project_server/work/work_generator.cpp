// pass() renews outdated jobs and then serves every run, app by app; attempt() keeps the first
// failure for the end, so a damaged run does not stop the others. create_job() stages the inputs
// under a lock that dedloc-purge takes as well, then create_work() inserts the row, which needs
// them, and the run's counters follow. cancel() ends the unsent results first and then looks, with
// a lock, for one that was sent meanwhile; only without one is the workunit cancelled.
#include "project_server/work/work_generator.hpp"

// Must be the first of BOINC's headers: it configures the others.
#include <config.h>

#include <backend_lib.h>
#include <boinc_db.h>
#include <fmt/format.h>
#include <sched_config.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/task.hpp"
#include "peer/formats/training_memory.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/host_blacklist.hpp"
#include "project_server/database/states.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/settings.hpp"
#include "project_server/work/job_template.hpp"
#include "project_server/work/staging.hpp"
#include "project_server/work/templates_text.hpp"
#include "project_server/xml/job_documents.hpp"

namespace dedloc::work {
namespace {

namespace fs = std::filesystem;

/// Relative to the project's folder, as workunit.result_template_file requires.
constexpr const char* kOutputTemplateFile = "templates/dedloc_train_out";

/// The open jobs of a run. The index dedloc_wu_run finds them among all that the run has
/// had.
constexpr const char* kOpenJobs =
    "from workunit w where w.appid = ? and w.opaque = ? and w.assimilate_state = ? and "
    "w.error_mask = 0 and w.canonical_resultid = 0";
/// Leaves only those that are unsent, or so new that the transitioner has not created their
/// instance yet.
constexpr const char* kOfThemReady =
    " and (exists (select 1 from result r where r.workunitid = w.id and r.server_state = ?) or not "
    "exists (select 1 from result r where r.workunitid = w.id))";

/// FLOP/s of the host for which a job's estimated running time equals its lease. Schedulers and
/// clients divide rsc_fpops_est by what they project for a host. A job lasts as long on every host,
/// so any figure is wrong for most; that of a slow host is never too long. A longer one would keep
/// slow hosts from the job, because BOINC's scheduler then expects it to miss its deadline; too
/// short a one does no harm, because a host has one job at a time.
constexpr double kReferenceFlops = 1e9;
/// The same figure for a job that only averages, whole. It runs beside all others, but BOINC's
/// scheduler subtracts its estimated time from what a client asks for its processors, and from the
/// time until the deadline of the next job: so it must be next to nothing.
constexpr double kAggregatorFlops = 1e6;
/// What a job writes into its slot: receipt, journal, key and log.
constexpr double kSlotBytes = 200e6;
/// Averages that a trainer keeps for peers that are behind, at most as many as peer/config.hpp
/// says.
constexpr std::uint32_t kKeptAverages = 2;

/// Bytes of the shards of a job.
double bytes_of(const std::vector<formats::ShardReference>& shards) {
    double bytes = 0;
    for (const auto& shard : shards) bytes += static_cast<double>(shard.bytes);
    return bytes;
}

double bytes_of(const fs::path& folder, const std::vector<Digest>& sources) {
    double bytes = 0;
    for (const Digest& source : sources) {
        bytes += static_cast<double>(fs::file_size(server::source_file(folder, source)));
    }
    return bytes;
}

/// Copies run file, shards, added sources and module of a job to the download tree. Returns their
/// names there, in the order of the template.
std::vector<std::string> stage_inputs(const server::ProjectConfig& project, const fs::path& folder,
                                      const formats::RunFile& run,
                                      const std::vector<formats::ShardReference>& shards,
                                      const std::vector<Digest>& sources) {
    std::vector<std::string> names{staged_name_of(run)};
    stage_file(project, folder / "run.json", names.front());
    for (const auto& shard : shards) {
        stage_file(project, server::shard_file(folder, shard), shard.name);
        names.push_back(shard.name);
    }
    if (shards.empty()) return names;
    for (const Digest& source : sources) {
        names.push_back(staged_name_of(source));
        stage_file(project, server::source_file(folder, source), names.back());
    }
    const auto* const module = std::get_if<formats::ModuleSpec>(&run.model);
    if (module == nullptr) return names;
    names.push_back(staged_name_of(*module));
    stage_file(project, folder / formats::kModuleFile, names.back());
    return names;
}

/// The output template of a run's trainers, which depends on its model, as a path relative to the
/// project's folder; kOutputTemplateFile if an administrator has given that another form.
std::string output_template_of(const server::ProjectConfig& project, const fs::path& folder,
                               const formats::RunFile& run) {
    const fs::path path = folder / "output_template";
    const std::string relative = fs::relative(path, project.directory).string();
    if (relative.size() >= sizeof(WORKUNIT::result_template_file)) return kOutputTemplateFile;
    try {
        const std::string text =
            output_template_for(platform::read_text(project.directory / kOutputTemplateFile),
                                formats::checkpoint_bytes(run));
        if (!fs::exists(path) || platform::read_text(path) != text) {
            platform::replace_file(path, text);
        }
    } catch (const InputError& error) {
        log_warning("{} Jobs of {} declare no checkpoint.", error.what(), run.name);
        return kOutputTemplateFile;
    }
    return relative;
}

}  // namespace

struct WorkGenerator::Needs {
    std::vector<formats::ShardReference> shards{};
    double module_bytes = 0;
    double memory = 0;  ///< bytes
    double disk = 0;    ///< bytes of the state that a trainer saves
    std::string input_template{};
};

WorkGenerator::WorkGenerator(server::ProjectConfig project, server::Database& database,
                             const WorkOptions& options)
    : config_(std::move(project)), database_(database), options_(options) {
    const fs::path output = config_.directory / kOutputTemplateFile;
    if (!fs::exists(output)) {
        fs::create_directories(output.parent_path());
        platform::replace_file(output, std::string{kOutputTemplate});
    }
    server::open_boinc_database(config_);
}

WorkGenerator::~WorkGenerator() {
    server::close_boinc_database();
}

WorkReport WorkGenerator::pass() {
    WorkReport report;
    database_.ensure_connected();
    if (server::is_official(config_.directory)) {
        report.blacklisted = static_cast<int>(server::blacklist_banned_hosts(database_));
    }
    failure_ = nullptr;
    failed_.clear();
    for (const App& app : apps()) {
        renew_jobs(app, report);
        if (!app.is_aggregator) renew_sources(app, report);
        serve(app, report);
    }
    if (failure_) std::rethrow_exception(failure_);
    return report;
}

/// BOINC's scheduler does not add the files of a version to a job's limit, and which version a job
/// will get is not known yet.
WorkGenerator::AppFiles WorkGenerator::versions_of(const App& app) {
    if (options_.app_bytes || !server::is_official(config_.directory)) {
        return {.versions = "-", .bytes = static_cast<double>(options_.app_bytes.value_or(0))};
    }
    const auto published = database_.query_one(
        "select coalesce(group_concat(id order by id), 'none') as ids from app_version where "
        "appid = ? and deprecated = 0",
        {app.id});
    if (published->text("ids") == files_[app.id].versions) return files_[app.id];
    AppFiles files{.versions = published->text("ids")};
    for (const auto& version : database_.query(
             "select xml_doc from app_version where appid = ? and deprecated = 0", {app.id})) {
        files.bytes = std::max(files.bytes, server::slot_bytes_of(version.text("xml_doc")));
    }
    return files;
}

double WorkGenerator::estimate_of(const App& app, std::int64_t hours) {
    return app.is_aggregator ? kAggregatorFlops
                             : static_cast<double>(hours) * 3'600 * kReferenceFlops;
}

/// Jobs made for smaller versions, or with an estimate of an earlier release, are replaced unless a
/// volunteer has them. The feeder may hold a copy of an unsent job, so such a row is not changed:
/// the job is cancelled, which the scheduler notices, and a new one is made.
void WorkGenerator::renew_jobs(const App& app, WorkReport& report) {
    const auto present = versions_of(app);
    if (present.versions == files_[app.id].versions) return;
    bool is_done = true;
    for (const auto& run :
         database_.query("select id, name from dedloc_run where state = 'running'")) {
        is_done &=
            attempt(run.integer("id"), [&] { renew_jobs_of(run, app, present.bytes, report); });
    }
    if (is_done) files_[app.id] = present;
}

void WorkGenerator::renew_jobs_of(const server::Row& run, const App& app, double version_bytes,
                                  WorkReport& report) {
    const auto folder = server::state_folder(config_.directory) / "runs" / run.text("name");
    const auto file = formats::parse_run_file(platform::read_text(folder / "run.json"));
    const double state =
        app.is_aggregator ? 0 : static_cast<double>(formats::trainer_disk_bytes(file));
    for (const auto& job : database_.query(
             fmt::format("select w.id, w.xml_doc, w.rsc_disk_bound, w.rsc_fpops_est, exists "
                         "(select 1 from result r where r.workunitid = w.id and "
                         "r.server_state <> ?) as is_sent {}",
                         kOpenJobs),
             {server::ServerState::kUnsent, app.id, run.integer("id"),
              server::AssimilateState::kInit})) {
        double needed = kSlotBytes + state + version_bytes;
        for (const auto& input : server::described_files(job.text("xml_doc"))) {
            if (input.name != staged_name_of(file)) needed += input.bytes;
        }
        const bool is_too_small = job.real("rsc_disk_bound") < needed;
        const bool is_too_long = app.is_aggregator && job.real("rsc_fpops_est") > kAggregatorFlops;
        if (!is_too_small && !is_too_long) continue;
        if (job.integer("is_sent") == 0) {
            server::in_transaction(database_, [&] { cancel(job.integer("id")); });
            ++report.cancelled;
        } else if (is_too_small) {  // for the next instance of the job, if this one fails
            database_.execute("update workunit set rsc_disk_bound = ? where id = ?",
                              {needed, job.integer("id")});
        }
    }
}

/// A source that was added is for all volunteers that come from now on, so jobs that no volunteer
/// has are replaced as above.
void WorkGenerator::renew_sources(const App& app, WorkReport& report) {
    for (const auto& run :
         database_.query("select id, name from dedloc_run where state = 'running'")) {
        attempt(run.integer("id"), [&] { renew_sources_of(run, app, report); });
    }
}

void WorkGenerator::renew_sources_of(const server::Row& run, const App& app, WorkReport& report) {
    const auto folder = server::state_folder(config_.directory) / "runs" / run.text("name");
    if (!fs::exists(server::mixture_file(folder))) return;
    const auto file = formats::parse_run_file(platform::read_text(folder / "run.json"));
    const std::vector<Digest> sources = server::added_to(folder, file);
    std::size_t& known = added_[run.integer("id")];
    if (sources.size() == known) return;
    const std::string newest = staged_name_of(sources.back());
    for (const auto& job : database_.query(
             fmt::format("select w.id, w.xml_doc {} and not exists (select 1 from result r where "
                         "r.workunitid = w.id and r.server_state <> ?)",
                         kOpenJobs),
             {app.id, run.integer("id"), server::AssimilateState::kInit,
              server::ServerState::kUnsent})) {
        const auto inputs = server::described_files(job.text("xml_doc"));
        if (std::ranges::find(inputs, newest, [](const auto& input) { return input.name; }) !=
            inputs.end()) {
            continue;
        }
        server::in_transaction(database_, [&] { cancel(job.integer("id")); });
        ++report.cancelled;
    }
    known = sources.size();
}

bool WorkGenerator::attempt(std::int64_t run, const std::function<void()>& change) {
    if (failed_.contains(run)) return false;
    try {
        change();
        return true;
    } catch (const Error& error) {
        const auto* const failure = dynamic_cast<const server::DatabaseError*>(&error);
        if (failure != nullptr && failure->is_away()) throw;
        if (!failure_) failure_ = std::current_exception();
        failed_.insert(run);
        return false;
    }
}

std::vector<WorkGenerator::App> WorkGenerator::apps() {
    std::vector<App> found;
    for (const char* const name : server::kApps) {
        const auto row = database_.query_one("select id from app where name = ?", {name});
        if (!row) continue;
        found.push_back({.name = name,
                         .id = row->integer("id"),
                         .is_aggregator = std::string_view{name} == server::kAggregatorApp});
    }
    return found;
}

void WorkGenerator::serve(const App& app, WorkReport& report) {
    for (const auto& run : database_.query(
             "select id, name, state, seats_ready, lease_hours, aggregators from dedloc_run")) {
        attempt(run.integer("id"), [&] {
            if (run.text("state") == "running") {
                create_jobs(app, run, report);
            } else {
                cancel_jobs(app, run.integer("id"), report);
            }
        });
    }
    // The assimilator's task. A job leaves only credit and a receipt, and the database has both by
    // now.
    report.assimilated += static_cast<int>(
        database_.execute("update workunit set assimilate_state = ?, transition_time = ? "
                          "where appid = ? and assimilate_state = ?",
                          {server::AssimilateState::kDone, std::time(nullptr), app.id,
                           server::AssimilateState::kReady}));
}

/// Some jobs to train are always unsent. All open jobs that only average count, so that a run never
/// has more aggregators than it may have.
void WorkGenerator::create_jobs(const App& app, const server::Row& run, WorkReport& report) {
    const auto id = run.integer("id");
    const auto own_seats = run.integer("seats_ready");
    const auto own_hours = run.integer("lease_hours");
    const Wanted wanted{.run = id,
                        .name = run.text("name"),
                        .hours = own_hours > 0 ? own_hours : options_.lease_hours};
    const auto count = [&] {
        if (app.is_aggregator) {
            return database_.query_one(fmt::format("select count(*) as jobs {}", kOpenJobs),
                                       {app.id, id, server::AssimilateState::kInit});
        }
        return database_.query_one(
            fmt::format("select count(*) as jobs {}{}", kOpenJobs, kOfThemReady),
            {app.id, id, server::AssimilateState::kInit, server::ServerState::kUnsent});
    };
    const auto limit = app.is_aggregator ? run.integer("aggregators")
                       : own_seats > 0   ? own_seats
                                         : options_.seats_ready;
    for (auto jobs = count()->integer("jobs"); jobs < limit; ++jobs) {
        create_job(app, wanted);
        ++report.created;
    }
}

WorkGenerator::Needs WorkGenerator::needs_of(const App& app, const formats::RunFile& run,
                                             std::int64_t made) const {
    if (app.is_aggregator) {
        return {.memory = static_cast<double>(formats::aggregator_bytes(run)),
                .input_template = std::string{kAggregatorInputTemplate}};
    }
    auto shards = formats::shards_of_job(run, static_cast<std::uint64_t>(made));
    if (shards.empty()) throw InputError(fmt::format("The run {} has no shard.", run.name));
    const auto* const module = std::get_if<formats::ModuleSpec>(&run.model);
    std::string input =
        input_template_for(kInputTemplate, shards.size(), run.added_sources, module != nullptr);
    return {.shards = std::move(shards),
            .module_bytes = module != nullptr ? static_cast<double>(module->bytes) : 0,
            .memory = static_cast<double>(formats::trainer_machine_bytes(run, kKeptAverages)),
            .disk = static_cast<double>(formats::trainer_disk_bytes(run)),
            .input_template = std::move(input)};
}

void WorkGenerator::create_job(const App& app, const Wanted& wanted) {
    const auto& [run, name, hours] = wanted;
    const fs::path folder = server::state_folder(config_.directory) / "runs" / name;
    // The list is read once: the job's files and what the trainer makes of them are of one moment.
    formats::RunFile file = formats::parse_run_file(platform::read_text(folder / "run.json"));
    const std::vector<Digest> sources = server::added_to(folder, file);
    for (const Digest& source : sources) {
        formats::add_source(file, server::read_source(folder, source));
    }
    // Both numbers only grow, although old jobs are deleted: dedloc-purge keeps the newest one.
    const auto next = database_.query_one(
        "select (select coalesce(max(id), 0) + 1 from workunit) as id, jobs from dedloc_run "
        "where id = ?",
        {run});
    const Needs needs = needs_of(app, file, next->integer("jobs"));
    // dedloc-purge deletes no file between its staging and the job that needs it.
    const platform::FolderLock lock{config_.download_directory,
                                    platform::FolderLock::Sharing::kAwaited};
    const auto names = stage_inputs(config_, folder, file, needs.shards, sources);
    std::vector<const char*> inputs;
    for (const auto& input : names) inputs.push_back(input.c_str());

    // A row holds 64 KB of text, too much for the stack.
    const auto job = std::make_unique<DB_WORKUNIT>();
    job->clear();
    job->appid = app.id;
    job->opaque = static_cast<double>(run);
    job->rsc_fpops_est = estimate_of(app, hours);
    job->rsc_memory_bound = needs.memory;
    job->rsc_disk_bound = kSlotBytes + needs.disk + bytes_of(needs.shards) +
                          bytes_of(folder, sources) + needs.module_bytes + files_[app.id].bytes;
    const std::string job_name = fmt::format("{}_{}", name, next->integer("id"));
    job_name.copy(job->name, sizeof job->name - 1);
    const std::string template_file =
        app.is_aggregator ? kOutputTemplateFile : output_template_of(config_, folder, file);
    const std::string output = (config_.directory / template_file).string();
    const std::string arguments = fmt::format("--hours {}", hours);
    if (boinc_db.ping() != 0) server::open_boinc_database(config_);
    const int status =
        ::create_work(*job, needs.input_template.c_str(), template_file.c_str(), output.c_str(),
                      inputs.data(), static_cast<int>(inputs.size()), ::config, arguments.c_str());
    if (status != 0) {
        throw Error(fmt::format("Cannot make the job {}: BOINC error {}, {}.", job_name, status,
                                boinc_db.error_string()));
    }
    log_info("job {} of {} created", job_name, app.name);
    if (app.is_aggregator) return;
    // Runs of an earlier version have no such figure yet.
    const auto gpu_bytes = formats::runs_on_gpus(file)
                               ? static_cast<double>(formats::trainer_gpu_bytes(file))
                               : formats::kMoreThanAnyGpu;
    database_.execute("update dedloc_run set gpu_memory = ? where id = ? and gpu_memory <> ?",
                      {gpu_bytes, run, gpu_bytes});
    database_.execute("update dedloc_run set jobs = jobs + 1 where id = ?", {run});
}

void WorkGenerator::cancel_jobs(const App& app, std::int64_t run, WorkReport& report) {
    report.cancelled += server::in_transaction(database_, [&] {
        // Jobs in progress, or whose receipt awaits validation, are not cancelled. The index
        // dedloc_wu_run finds the open jobs, and only these are locked.
        const auto rows = database_.query(
            "select w.id from workunit w where w.appid = ? and w.opaque = ? and "
            "w.assimilate_state = ? and w.error_mask = 0 and w.canonical_resultid = 0 and not "
            "exists (select 1 from result r where r.workunitid = w.id and (r.server_state = ? or "
            "(r.server_state = ? and r.outcome = ? and r.validate_state = ?))) for update",
            {app.id, run, server::AssimilateState::kInit, server::ServerState::kInProgress,
             server::ServerState::kOver, server::ResultOutcome::kSuccess,
             server::ValidateState::kInit});
        for (const auto& row : rows) cancel(row.integer("id"));
        return static_cast<int>(rows.size());
    });
}

/// Requires a transaction. The scheduler may have sent the job meanwhile; then it goes on.
void WorkGenerator::cancel(std::int64_t job) {
    database_.execute(
        "update result set server_state = ?, outcome = ? where workunitid = ? and "
        "server_state = ?",
        {server::ServerState::kOver, server::ResultOutcome::kNotNeeded, job,
         server::ServerState::kUnsent});
    if (database_.query_one("select id from result where workunitid = ? and server_state = ? limit "
                            "1 for update",
                            {job, server::ServerState::kInProgress})) {
        return;
    }
    database_.execute(
        "update workunit set error_mask = error_mask | ?, transition_time = ? where id = ?",
        {WU_ERROR_CANCELLED, std::time(nullptr), job});
}

}  // namespace dedloc::work
