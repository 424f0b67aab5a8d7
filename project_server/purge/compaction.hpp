// Replaces old rows of dedloc_contribution, one for each run, step and peer, by sums for each run,
// account, computer and day in dedloc_daily_credit.
//
// dedloc_run.compacted is a step up to which the recorder inserts no contribution any more: it is
// raised, in a transaction of its own, before any row up to it is added to a sum and deleted. So no
// contribution can come back after it was summed, whatever is read from the ledger again.
#pragma once

#include <cstdint>
#include <map>

#include "project_server/database/database.hpp"

namespace dedloc::purge {

/// Compacts a bounded number of rows in each pass. Thread: one.
class Compaction {
  public:
    /// `database` must outlive it. `batch`: rows in one transaction; a pass does up to 20 of them
    /// for each run.
    Compaction(server::Database& database, int batch) : database_(database), batch_(batch) {}

    /// Compacts contributions that were committed before `before`, UTC seconds: those that are
    /// credited or have no owner. Pending and withheld ones keep their rows, and pending ones stop
    /// the mark. Returns the number of rows replaced. Errors: DatabaseError.
    /// Cost: about six statements per batch, all by the primary key.
    int pass(std::int64_t before);

  private:
    void raise_mark(std::int64_t run, std::int64_t before);
    int replace_batch(std::int64_t run);

    server::Database& database_;
    const int batch_;
    std::map<std::int64_t, std::int64_t> next_step_;  ///< where the next batch of each run begins
};

}  // namespace dedloc::purge
