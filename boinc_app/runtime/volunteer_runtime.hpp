// The interface to the volunteer's machine: the volunteer may want the computer back at any moment.
// Implemented for BOINC and for a terminal (boinc_runtime.hpp), and by a fake in tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "peer/base/units.hpp"

namespace dedloc::runtime {

/// What the volunteer's machine asks of the app at the moment.
struct HostWish {
    bool is_suspended = false;  ///< compute and send nothing until this ends
    bool must_quit = false;     ///< stop within seconds; the job may be restarted later
    bool is_aborted = false;    ///< stop within seconds; the job has failed
    bool operator==(const HostWish&) const = default;
};

/// The volunteer's account at the project, and how to reach the project from this machine.
struct Account {
    std::string authenticator;   ///< BOINC's secret of the account; sent to the gateway only
    std::uint64_t host = 0;      ///< the project's number of this machine; 0: unknown
    std::string proxy{};         ///< URL; empty: use the environment's settings
    std::string certificates{};  ///< file of trusted certificates; empty: the system's
};

/// What the volunteer lets the app use, from the computing preferences.
struct HostLimits {
    double computing = 1;                 ///< share of the time, above 0
    std::optional<Bandwidth> upload{};    ///< bytes a second; nothing: no limit
    std::optional<Bandwidth> download{};  ///< bytes a second; nothing: no limit
    bool operator==(const HostLimits&) const = default;
};

/// The credit that the project had granted when this task began, in cobblestones.
struct AccountCredit {
    double account = 0;  ///< the whole account's
    double host = 0;     ///< this machine's
};

/// The volunteer's machine. Not copyable: there is one per process. Thread: main only.
class VolunteerRuntime {
  public:
    virtual ~VolunteerRuntime() = default;

    /// What the machine asks for now. Polled at least once a second.
    virtual HostWish wish() = 0;
    /// What the volunteer allows now; it may change at any time.
    virtual HostLimits limits() = 0;
    /// What the app has sent and received since the process began, so that the client can keep the
    /// volunteer's limit of bytes a day.
    virtual void report_traffic(Bytes sent, Bytes received) = 0;
    /// The least time between two states that the app saves on the disk, as the volunteer wants it.
    virtual std::chrono::seconds save_interval() const = 0;
    /// Path of the file that the job calls `open_name`.
    virtual std::filesystem::path resolve(const std::string& open_name) = 0;
    /// BOINC's name of the result; empty outside a project.
    virtual std::string result_name() const = 0;
    /// The volunteer's account; nothing outside a project.
    virtual std::optional<Account> account() const = 0;
    /// CPUs that the job may keep busy, at least 1.
    virtual unsigned granted_cpus() const = 0;
    /// The number of the NVIDIA GPU that the job was given; nothing if it was given none.
    virtual std::optional<unsigned> granted_gpu() const = 0;
    /// The project's folder on this machine, which its jobs share and which outlives them; empty
    /// outside a project.
    virtual std::filesystem::path shared_folder() const = 0;
    /// How long earlier processes of this job have run.
    virtual std::chrono::seconds time_before() const = 0;
    /// Credit of the account and of this machine; nothing outside a project.
    virtual std::optional<AccountCredit> credit() const = 0;
    /// Tells the volunteer's machine of a web page that shows what the job does, such as
    /// http://127.0.0.1:40123/.
    virtual void offer_page(const std::string& url) = 0;
    /// `fraction_done` is between 0 and 1 and never falls.
    virtual void report_progress(double fraction_done) = 0;
    /// The client must not stop the process between these two calls. Calls come in pairs and do not
    /// nest.
    virtual void begin_writing() = 0;
    virtual void end_writing() = 0;
    /// Everything that must survive a restart is on disk.
    virtual void state_is_saved() = 0;

    /// Sends a short text to the project (BOINC's trickle-up); the client takes it within seconds.
    /// A later one replaces it until then; it is lost if the process ends earlier.
    virtual void send_message(const std::string& variety, const std::string& text) = 0;

    /// Whether the job may upload a file of this name while it runs.
    virtual bool may_upload(const std::string& open_name) const = 0;
    /// Uploads it, in the client's own time and with the volunteer's limits. Once for each file.
    virtual void upload(const std::string& open_name) = 0;
    /// The project has received all of it.
    virtual bool is_uploaded(const std::string& open_name) = 0;

    // The three ways to end the process. None returns; close everything else before.
    /// The job is done (status 0) or has failed (1 … 127).
    [[noreturn]] virtual void finish(int status) = 0;
    /// The job is not done. The client may restart it at once.
    [[noreturn]] virtual void quit() = 0;
    /// The job is not done, and a restart before `delay` has passed would be useless.
    [[noreturn]] virtual void come_back_in(std::chrono::seconds delay,
                                           const std::string& reason) = 0;
};

/// RAII for begin_writing and end_writing: the client cannot stop the process in mid-write.
class Writing {
  public:
    explicit Writing(VolunteerRuntime& runtime) : runtime_(runtime) { runtime_.begin_writing(); }
    ~Writing() { runtime_.end_writing(); }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

  private:
    VolunteerRuntime& runtime_;
};

}  // namespace dedloc::runtime
