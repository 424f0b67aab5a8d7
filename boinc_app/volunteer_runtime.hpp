// The seam to the volunteer's machine: who gave us this computer may want it back at any moment.
// Real under BOINC (boinc_runtime.hpp), standalone for a terminal, fake in tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dedloc {

/// What the volunteer's machine wants of us right now.
struct HostWish {
    bool is_suspended = false;  ///< compute nothing and talk to nobody until this ends
    bool must_quit = false;     ///< stop within seconds; we may be started again later
    bool is_aborted = false;    ///< stop within seconds; the job is over and failed
    bool operator==(const HostWish&) const = default;
};

/// Whose computer it is, as the project knows it, and how to reach the project from here.
struct Account {
    std::string authenticator;
    std::uint64_t host = 0;
    std::string proxy{};         ///< URL; empty: as the environment says
    std::string certificates{};  ///< file of trusted certificates; empty: the system's
};

/// Not copyable: there is one per process. Thread: main only.
class VolunteerRuntime {
  public:
    virtual ~VolunteerRuntime() = default;

    /// Polled at least once a second.
    virtual HostWish wish() = 0;
    /// Where the file that the job calls `open_name` lies.
    virtual std::filesystem::path resolve(const std::string& open_name) = 0;
    /// The job's name; empty outside a project.
    virtual std::string result_name() const = 0;
    /// Nothing outside a project.
    virtual std::optional<Account> account() const = 0;
    /// CPUs we may keep busy, at least 1.
    virtual unsigned granted_cpus() const = 0;
    /// Between 0 and 1, never falling.
    virtual void report_progress(double fraction_done) = 0;
    /// While files are written: not to be stopped. Pairs, not nested.
    virtual void begin_writing() = 0;
    virtual void end_writing() = 0;
    /// What must survive a restart is on disk.
    virtual void state_is_saved() = 0;

    // The three ways to end. None returns; everything else has been closed before.
    /// The job is done (status 0) or has failed (1 … 127).
    [[noreturn]] virtual void finish(int status) = 0;
    /// Not done: as the host wished, or without need. It may start us again at once.
    [[noreturn]] virtual void quit() = 0;
    /// Not done, and no use to start us again before `delay` has passed.
    [[noreturn]] virtual void come_back_in(std::chrono::seconds delay,
                                           const std::string& reason) = 0;
};

/// No file is written by halves because of the volunteer: RAII for begin_writing and end_writing.
class Writing {
  public:
    explicit Writing(VolunteerRuntime& runtime) : runtime_(runtime) { runtime_.begin_writing(); }
    ~Writing() { runtime_.end_writing(); }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

  private:
    VolunteerRuntime& runtime_;
};

}  // namespace dedloc
