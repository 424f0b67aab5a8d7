// Which states the ledger proves: every commit names the state that it was computed on, every
// generation the one that it begins with.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"

namespace dedloc::backbone {

/// Thread: any. Memory: 40 bytes a step.
class LedgerStates {
  public:
    /// As LedgerVisitor: to be told of every record.
    void take(const LedgerRecord& record);

    Standing judge(const CheckpointHead& checkpoint) const;

  private:
    struct State {
        StepIndex step;
        Digest digest;
    };

    mutable std::mutex mutex_;   ///< guards all below
    std::vector<State> states_;  ///< ascending by step
    StepIndex last_;             ///< that the last record leads to
};

}  // namespace dedloc::backbone
