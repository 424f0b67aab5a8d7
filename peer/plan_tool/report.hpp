// The results of dedloc-plan for a fleet, and their output as text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "peer/plan_tool/fleet_file.hpp"
#include "peer/plan_tool/simulated_rounds.hpp"
#include "peer/planning/advice.hpp"
#include "peer/planning/baselines.hpp"

namespace dedloc::plan {

/// T* with one more aggregator.
struct AggregatorAdvice {
    std::uint64_t mbit = 0;  ///< bandwidth of the new aggregator, both up and down
    Duration optimum{0};     ///< T* of the larger fleet
};

/// Time of a step and how to shorten it; needs samples_per_second and a target batch.
struct TrainingAdvice {
    planning::Pace pace;             ///< if all trainers compute
    planning::TrainerChoice choice;  ///< the trainers that should not compute
    planning::TurnChoice turns;      ///< how the coordinator would call the trainers
    /// Target batch at which computing takes 90 % of the time.
    std::uint64_t batch_for_90_percent = 0;
};

/// All results.
struct Report {
    planning::SharePlan plan;                   ///< the planner's plan
    planning::SharePlan equal;                  ///< equal shares for all
    planning::SharePlan server;                 ///< the best parameter server
    std::vector<AggregatorAdvice> aggregators;  ///< in ascending order of bandwidth
    std::optional<TrainingAdvice> training;     ///< nothing: no target batch was given
    /// A simulated round, and other plans of the same members.
    struct Simulated {
        SimulatedRounds played;      ///< contains one round
        planning::SharePlan equal;   ///< equal shares for all
        planning::SharePlan server;  ///< the best parameter server
    };
    std::optional<Simulated> simulated;  ///< nothing: not asked for
};

/// Computes all results but the simulation. Requires a fleet as parse_fleet returns it.
Report report_on(const Fleet& fleet);

/// Simulates a round. Errors: Error (no peer contributes, or the simulated swarm does not finish a
/// round). Cost: about a second per peer for a fleet of 16; much more for hundreds.
Report::Simulated simulated_on(const Fleet& fleet);

/// The report as a table and sentences; ends with a newline.
std::string text_of(const Fleet& fleet, const Report& report);
/// The report as one JSON object; times in seconds, ends with a newline.
std::string json_of(const Fleet& fleet, const Report& report);

/// "upload", "download" or "none".
const char* name_of(planning::Limit limit);
/// "every-round", "some-rounds", "when-done", "reduce-only" or "rest".
const char* name_of(TurnKind kind);
/// Name of the member that averages the whole vector in the parameter server's plan.
const std::string& server_of(const Fleet& fleet, const Report& report);

}  // namespace dedloc::plan
