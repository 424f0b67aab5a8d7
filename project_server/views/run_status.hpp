// The progress of a run, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"
#include "project_server/database/evaluations.hpp"

namespace dedloc::server {

/// One step of a run.
struct StepLine {
    std::uint64_t step = 0;     ///< number of updates done
    double loss = 0;            ///< mean over the step's samples, in nats
    std::uint64_t samples = 0;  ///< sum over all contributions
    double seconds = 0;         ///< duration of the step
    int members = 0;            ///< members of the round
    int equal_digests = 0;      ///< members that reported the same digest; 0: none has reported yet
};

/// A source of a run's samples.
struct SourceShare {
    std::string name;     ///< the source's name
    double share = 0;     ///< part of the samples of the last step
    std::string licence;  ///< a note; may be empty
    bool operator==(const SourceShare&) const = default;
};
/// A change of the mixture of a run's sources.
struct MixtureLine {
    std::uint64_t from = 0;      ///< first step
    std::vector<double> shares;  ///< parts of the samples, in the order of the sources
    /// False: decided without it, because it came too late.
    bool is_in_force = true;
};

/// Progress of a run.
struct RunStatus {
    std::string name;                     ///< the run's name
    std::string state;                    ///< "running", "paused" or "finished"
    std::uint64_t steps = 0;              ///< updates until it is finished
    int peers = 0;                        ///< trainers that work now
    double samples_per_second = 0;        ///< sum over these trainers
    std::vector<StepLine> lines;          ///< ascending by step
    std::string final_digest;             ///< digest of the last state, hex; empty until finished
    std::string architecture{};           ///< its model's, which decides on the figures
    std::vector<EvaluationRow> held_out;  ///< figures on held-out data, ascending by step
    bool is_live = false;                 ///< its backbone answers: the next two are of the present
    std::uint64_t samples = 0;            ///< computed for the next step
    std::uint64_t target_batch = 0;       ///< samples of a step
    std::vector<SourceShare> sources{};   ///< empty: the run has no sources
    std::vector<MixtureLine> mixtures{};  ///< changes of the mixture, ascending by step
};

/// The run and its steps. Errors: InputError when there is no such run, DatabaseError.
RunStatus run_status(Database& database, const std::string& name);

}  // namespace dedloc::server
