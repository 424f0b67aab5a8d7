// Creates jobs for volunteers. A running run always has a few unsent jobs to train, and as many
// jobs that only average as it may have aggregators; when a run is paused or finished, its jobs
// that have not started are cancelled. Each pass reads the tables and does only
// what is missing, so the next pass repairs a crash between any two statements. A job's
// workunit.opaque is dedloc_run.id; the transitioner creates its instances.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::work {

/// Settings of a WorkGenerator.
struct WorkOptions {
    // The two defaults, for runs whose row in dedloc_run has no number of its own.
    /// Unsent jobs kept for each running run: enough for those who come between two passes.
    int seats_ready = 16;
    /// Hours after which a job leaves the swarm and reports; the host then gets the next one.
    int lease_hours = 12;
    /// Bytes added to the disk limit of a job for the files of its app version. Absent: under an
    /// official server, whose scheduler does not add them, those of the largest version of its app
    /// that is offered; else 0, because our scheduler adds them.
    std::optional<std::uint64_t> app_bytes{};
};

/// What a pass has changed.
struct WorkReport {
    int created = 0;      ///< new jobs
    int cancelled = 0;    ///< jobs of paused and finished runs
    int assimilated = 0;  ///< judged jobs that were closed
    int blacklisted = 0;  ///< computers whose blacklisting has changed, see host_blacklist.hpp
};

/// Creates and closes jobs. Thread: one, because create_work uses libsched's global connection.
class WorkGenerator {
  public:
    /// Writes the output template into the project unless it exists. `database` must outlive the
    /// generator. Errors: IoError, Error.
    WorkGenerator(server::ProjectConfig project, server::Database& database,
                  const WorkOptions& options);
    ~WorkGenerator();

    /// Does one pass. Errors: DatabaseError, IoError (a file cannot be staged), InputError (a run
    /// file cannot be read), Error (a job is refused); changes made before the error stay, and the
    /// other runs are served unless the database is away.
    WorkReport pass();

  private:
    /// One of our apps, if the project has it.
    struct App {
        const char* name = nullptr;
        std::int64_t id = 0;
        bool is_aggregator = false;
    };
    /// What a job is about.
    struct Wanted {
        std::int64_t run = 0;
        std::string name{};  ///< the run's
        std::int64_t hours = 0;
    };
    /// What differs between jobs of the two apps.
    struct Needs;
    std::vector<App> apps();
    void serve(const App& app, WorkReport& report);
    void create_jobs(const App& app, const server::Row& run, WorkReport& report);
    Needs needs_of(const App& app, const formats::RunFile& run, std::int64_t made) const;
    void create_job(const App& app, const Wanted& wanted);
    /// The offered versions of an app, and what the largest one takes in the slot.
    struct AppFiles {
        std::string versions{};  ///< their numbers
        double bytes = 0;
    };
    AppFiles versions_of(const App& app);
    void cancel_jobs(const App& app, std::int64_t run, WorkReport& report);
    void cancel(std::int64_t job);
    void renew_jobs(const App& app, WorkReport& report);
    void renew_jobs_of(const server::Row& run, const App& app, double version_bytes,
                       WorkReport& report);
    void renew_sources(const App& app, WorkReport& report);
    void renew_sources_of(const server::Row& run, const App& app, WorkReport& report);
    /// Changes something of a run. A run whose files or rows are damaged must not stop the others:
    /// its first failure is kept for the end of the pass, and false returned. Errors: DatabaseError
    /// if the database is away.
    bool attempt(std::int64_t run, const std::function<void()>& change);
    static double estimate_of(const App& app, std::int64_t hours);

    const server::ProjectConfig config_;
    server::Database& database_;
    const WorkOptions options_;
    std::map<std::int64_t, AppFiles> files_;     ///< those of the last pass; by app
    std::map<std::int64_t, std::size_t> added_;  ///< sources that all unsent jobs of a run have
    std::exception_ptr failure_;                 ///< the first of the present pass
    std::set<std::int64_t> failed_;              ///< runs that it does not serve any more
};

}  // namespace dedloc::work
