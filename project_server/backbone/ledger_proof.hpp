// What a ledger file proves to a reader that knows only the run file: every certificate is checked,
// from the keys that the run file names onwards, so it does not matter who sent the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/ledger_states.hpp"

namespace dedloc::backbone {

/// What led to a state.
struct Contributions {
    Samples samples;          ///< samples of the updates that the state has seen
    std::uint64_t peers = 0;  ///< peers with at least one of them
    Digest record;            ///< the record that leads to the state; zeros for step 0
};

/// Verifies a ledger, also while another process appends to it. Thread: one.
class LedgerProof final {
  public:
    /// Called from time to time with the bytes read and the bytes of the file.
    using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
    /// Opens the file and reads it with extend(). Errors: IoError: no ledger of this run; as
    /// extend().
    LedgerProof(std::filesystem::path path, const formats::RunFile& run,
                const Progress& progress = {});

    /// Reads all complete records that have been written since the last call.
    /// Errors  InputError: a record that is not certified, or another first state than the one that
    ///         the run file names; IoError: a damaged file
    /// Cost    one signature check (0.06 ms) for each vote
    void extend(const Progress& progress = {});

    /// Judges a checkpoint by the run file and the records read so far. Only Standing::kProven is a
    /// proof.
    Standing judge(const formats::CheckpointHead& checkpoint) const;
    /// Whether a generation has made this very state void.
    bool was_void(const formats::CheckpointHead& checkpoint) const {
        return states_.was_void(checkpoint);
    }
    /// The head after the last record read.
    const Head& head() const { return reader_.place().codec.head(); }

    /// Calls `visit` for each decision that led to a state up to `step`, in order, without those
    /// that a later generation has made void. Requires a step that the records read so far lead to.
    /// Cost: reads the file again, without checking signatures.
    void visit_decisions(StepIndex step,
                         const std::function<void(const CommitRecord&)>& visit) const;
    /// Counts the samples of the updates that the state `step` has seen. Requirement and cost are
    /// those of visit_decisions().
    Contributions contributions(StepIndex step) const;

  private:
    void check(const Head& before, const LedgerRecord& record) const;
    bool is_void(const CommitRecord& record) const;

    const std::filesystem::path path_;
    const RunId run_;
    const PeerKey project_;   ///< signs generations
    const PeerKey backbone_;  ///< the only voter of generation 0
    const std::optional<Digest> initial_state_;
    LedgerReader reader_;
    LedgerStates states_;
    std::vector<GenerationRecord> generations_;
};

}  // namespace dedloc::backbone
