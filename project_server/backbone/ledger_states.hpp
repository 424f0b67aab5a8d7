// The states that the ledger proves: every commit has the digest of the state that it was computed
// on, every generation the digest of its first state, a certificate that of the run's last state.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"

namespace dedloc::backbone {

/// An index of those states. Thread: any. Memory: 40 bytes a step, also of a void one.
class LedgerStates {
  public:
    /// A LedgerVisitor; must be called for every record.
    void take(const LedgerRecord& record);

    /// Whether a generation has made this very state void: it was in the history before.
    bool was_void(const formats::CheckpointHead& checkpoint) const;

    /// A CheckpointJudge.
    Standing judge(const formats::CheckpointHead& checkpoint) const;

  private:
    struct State {
        StepIndex step;
        Digest digest;
    };

    mutable std::mutex mutex_;   ///< guards all members below
    std::vector<State> states_;  ///< ascending by step
    std::vector<State> void_;    ///< made void by generations, in no order
    StepIndex last_;             ///< the step that the last record leads to
};

}  // namespace dedloc::backbone
