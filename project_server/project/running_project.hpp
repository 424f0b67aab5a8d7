// Starts all daemons of a project under one supervisor and keeps them running.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "peer/platform/process.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/project/begins.hpp"
#include "project_server/project/lock.hpp"
#include "project_server/project/supervisor.hpp"
#include "project_server/settings.hpp"

namespace dedloc::project {

/// A running project. Thread: the process's first one.
class RunningProject final {
  public:
    /// Takes the project's lock. Errors: InputError (running already, a port in use).
    RunningProject(std::filesystem::path project, const platform::StopSignals& signals);
    RunningProject(const RunningProject&) = delete;
    RunningProject& operator=(const RunningProject&) = delete;

    /// Starts mariadbd unless the database is on an existing server, dedloc-server, dedloc-gateway,
    /// nginx, dedloc-work, dedloc-validator, dedloc-credit, dedloc-purge, dedloc-evaluate if it is
    /// installed, and a backbone for each running run. Each of the first four, of which `begins` is
    /// told, must answer before the next one starts. Brings the database's tables up to date.
    /// False if a stop signal arrived meanwhile. Errors: DatabaseError (an existing server does not
    /// let us in), IoError with the reason in the log of a daemon that ended or did not
    /// answer in time.
    bool start(const Begins& begins);
    /// Keeps all daemons running until a stop signal. The destructor stops them.
    void serve();

  private:
    /// Connects to the project's database, and starts its own server first if it has one. False on
    /// a stop signal. Errors: IoError; DatabaseError (an existing server does not let us in).
    bool connect_database();
    void launch(const std::string& name, platform::Command command,
                std::filesystem::path directory = {});
    /// Waits until `is_ready` holds; false on a stop signal. Errors: IoError when the daemon ends
    /// or takes too long.
    template <class Condition>
    bool await(const std::string& name, const Condition& is_ready);
    platform::Command program(const std::string& name) const;
    /// Lets nginx read the certificate again when its files have changed.
    void follow_certificate();
    /// When the certificate and its key were written; the clock's smallest value for an absent one.
    using CertificateTime =
        std::pair<std::filesystem::file_time_type, std::filesystem::file_time_type>;
    CertificateTime time_of_certificate() const;
    /// Keeps the files in log/ small.
    void rotate_logs();

    const std::filesystem::path project_;
    const platform::StopSignals& signals_;
    const server::Settings settings_;
    const server::ProjectConfig config_;
    const ProjectLock lock_;
    std::unique_ptr<server::Database> database_;
    Supervisor supervisor_;
    CertificateTime certificate_written_{};
    std::string rotation_failure_;  ///< the last one, which is logged once
};

}  // namespace dedloc::project
