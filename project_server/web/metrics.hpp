// Counters of the server's own work, and the metrics of the project for Prometheus.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "project_server/control/messages.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Requests of one kind: how many, and how long they took. Thread: any.
class RequestTimes {
  public:
    /// Upper limits of the histogram's buckets, in seconds; one more has no limit.
    static constexpr std::array kLimits{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                        0.1,   0.25,   0.5,   1.0,  2.5};
    using Buckets = std::array<std::uint64_t, kLimits.size() + 1>;

    /// Counts one request.
    void count(std::chrono::duration<double> time);
    /// The histogram `name` in Prometheus' text format, with `labels` such as kind="x".
    std::string text(const std::string& name, const std::string& labels) const;

  private:
    mutable std::mutex mutex_;
    Buckets buckets_{};
    double seconds_ = 0;
};

/// Counts a request from construction to destruction.
class TimedRequest {
  public:
    explicit TimedRequest(RequestTimes& times) : times_(times) {}
    ~TimedRequest() { times_.count(std::chrono::steady_clock::now() - begin_); }
    TimedRequest(const TimedRequest&) = delete;
    TimedRequest& operator=(const TimedRequest&) = delete;

  private:
    RequestTimes& times_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Runs, peers, samples, losses, jobs by state, volunteers and computers, in Prometheus' text
/// format. Errors: DatabaseError. Cost: counts over indices; nothing over all steps of a run.
std::string project_metrics(Database& database, double now);

/// What the runs' backbones say now: step, loss, samples a second, linked peers by role, in the
/// same format. Needs no database.
std::string live_metrics(const std::vector<control::Snapshot>& pictures);

/// Whether the database has answered; if not, the metrics of project_metrics() are left out.
std::string database_metric(bool is_up);

}  // namespace dedloc::server
