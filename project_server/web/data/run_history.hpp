// The steps of a run, read once: sums and curve are kept in memory, and only new rows of
// dedloc_step are read for them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// One point of a run's curves.
struct CurvePoint {
    std::int64_t step = 0;          ///< number of updates done
    double loss = 0;                ///< training loss, in nats
    double samples_per_second = 0;  ///< the whole swarm's during this step
    std::int64_t members = 0;       ///< peers in its round
};

/// Sums and curve of one run.
struct RunCurve {
    std::int64_t samples = 0;  ///< sum over all steps
    std::vector<CurvePoint>
        points;  ///< ascending, at most 1,200, evenly spaced, with the last step
};

/// Follows the runs of a project. Thread: any.
class RunHistories {
  public:
    /// The curve of dedloc_run.id up to its newest step. Reads all steps at the first call for a
    /// run and after steps have become void, else the new ones. Errors: DatabaseError.
    RunCurve read(Database& database, std::int64_t run);

  private:
    struct History {
        std::int64_t last_step = 0;
        double last_committed_at = 0;
        std::int64_t stride = 1;  ///< every such step is a point
        std::int64_t samples = 0;
        std::vector<CurvePoint> points;
        CurvePoint last;
    };
    static void add(History& history, const Row& row);

    std::mutex mutex_;
    std::map<std::int64_t, History> histories_;
};

}  // namespace dedloc::server
