// The steps of a run, read once: sums and curve are kept in memory, and only new rows of
// dedloc_step are read for them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Bytes of gradients and averages that all peers of a round send together, if all of its `members`
/// contribute and receive: each part travels once from each member to its reducer and once back, so
/// 2 × (members − 1) vectors. Computed, not measured: without what is sent again, and without
/// states; a member that does not contribute, as a backbone, sends up to a vector less.
/// `vector_bytes`: one vector in the run's codec.
double computed_round_bytes(std::int64_t members, double vector_bytes);

/// One point of a run's curves.
struct CurvePoint {
    std::int64_t step = 0;          ///< number of updates done
    double loss = 0;                ///< training loss, in nats
    double samples_per_second = 0;  ///< the whole swarm's during this step
    std::int64_t members = 0;       ///< peers in its round
    double computed_bytes = 0;      ///< computed_round_bytes(); 0: unknown
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
        double vector_bytes = -1;  ///< one vector's; 0: unknown, -1: not read yet
        std::vector<CurvePoint> points;
        CurvePoint last;
    };
    static void add(History& history, const Row& row);

    std::mutex mutex_;
    std::map<std::int64_t, History> histories_;
};

}  // namespace dedloc::server
