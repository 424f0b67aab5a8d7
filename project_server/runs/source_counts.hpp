// The samples of each source in the rounds of a run, counted from its verified ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/wire/mixture.hpp"
#include "peer/wire/types.hpp"
#include "project_server/backbone/ledger_proof.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/runs/source_losses.hpp"

namespace dedloc::runs {

/// A source during one mixture.
struct SourceCount {
    double share = 0;     ///< probability of a sample by the weights, in a job with all sources
    double expected = 0;  ///< samples by the weights, among the sources that each member's job has
    double variance = 0;  ///< variance of that number
    std::uint64_t samples = 0;  ///< samples that were counted in rounds
    /// Estimate of its training loss at the last of these steps; nothing: too few contributions.
    std::optional<LossEstimate> loss{};
};
/// Consecutive rounds of one mixture.
struct MixtureCount {
    StepIndex first;                     ///< state of the first round
    StepIndex last;                      ///< state of the last one
    std::uint64_t samples = 0;           ///< those of all sources
    std::uint64_t samples_of_older = 0;  ///< those of jobs without some source that was added
    std::vector<SourceCount> sources{};  ///< in the order of the run's sources
};

/// Samples of a contribution that are drawn one by one. A member that claims more, which no device
/// computes in a step, has the rest counted in the same proportions, so a claim takes no more time.
inline constexpr std::uint64_t kMaxDrawnSamples = std::uint64_t{1} << 22;

/// The samples of a record's line, counted by source: the first ones of the peer in that step.
/// `weights`: one for each source. Requires a run with sources.
/// Cost: two generator blocks for each of at most kMaxDrawnSamples.
std::vector<std::uint64_t> sources_of_samples(const formats::RunFile& run,
                                              const std::vector<std::uint64_t>& weights,
                                              const CommitLine& line, StepIndex step);

/// Says by which mixtures the samples of a run's records were drawn.
class RecordMixtures {
  public:
    /// Reads the signed list in the run's folder. `files` must outlive it. Errors: InputError.
    explicit RecordMixtures(const backbone::RunFiles& files);
    /// The weights in force at the record's step: one for each source that the run has now.
    /// Errors: InputError: the list has not the mixture that the record names.
    std::vector<std::uint64_t> weights(const CommitRecord& record) const;
    /// The same for the job of this line: one for each source that it had. Empty: the run file's.
    std::vector<std::uint64_t> weights(const CommitRecord& record, const CommitLine& line) const;

  private:
    const backbone::RunFiles& files_;
    const SharedMixture changes_;
};

/// Counts each round by the mixture that its record names. A member's samples are counted as the
/// first ones of the record's step: so they are, except for those that it kept from earlier steps
/// (peer/round/overlap.md), whose sources have the same probabilities while the mixture is the
/// same.
///
/// Errors  InputError: the run has no sources; its folder lacks the list of changes that its ledger
///         names (file `mixture`)
/// Cost    reads the ledger, and a generator's step for each sample of the run
std::vector<MixtureCount> count_sources(const backbone::RunFiles& files,
                                        const backbone::LedgerProof& proof);

}  // namespace dedloc::runs
