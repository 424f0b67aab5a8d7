// What dedloc-plan has to say about a fleet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "peer/plan_tool/fleet_file.hpp"
#include "peer/plan_tool/simulated_rounds.hpp"
#include "peer/planning/advice.hpp"
#include "peer/planning/baselines.hpp"

namespace dedloc::plan {

/// What a further aggregator would do to T*.
struct AggregatorAdvice {
    std::uint64_t mbit = 0;  ///< of its link, up and down
    Duration optimum{0};
};

/// With samples_per_second and a target batch.
struct TrainingAdvice {
    planning::Pace pace;
    planning::TrainerChoice choice;
    std::uint64_t batch_for_90_percent =
        0;  ///< target batch at which 90 % of the time is computing
};

struct Report {
    planning::SharePlan plan;
    planning::SharePlan equal;
    planning::SharePlan server;
    std::vector<AggregatorAdvice> aggregators;  ///< by ascending bandwidth
    std::optional<TrainingAdvice> training;
    /// One round as the protocol plays it, beside other plans of the same members.
    struct Simulated {
        SimulatedRounds played;  ///< with one round
        planning::SharePlan equal;
        planning::SharePlan server;
    };
    std::optional<Simulated> simulated;
};

/// Requires a fleet as parse_fleet returns it.
Report report_on(const Fleet& fleet);

/// Errors: Error if nobody contributes, or if the simulated swarm does not finish a round.
/// Cost: a second or so for every peer of a fleet of 16; much more for hundreds.
Report::Simulated simulated_on(const Fleet& fleet);

/// A table and sentences, for people; ends with a newline.
std::string text_of(const Fleet& fleet, const Report& report);
/// The same as one JSON object; times in seconds, ends with a newline.
std::string json_of(const Fleet& fleet, const Report& report);

/// "upload", "download" or "none".
const char* name_of(planning::Limit limit);
double seconds_of(Duration time);
/// The one member that averages everything in a parameter server's plan.
const std::string& server_of(const Fleet& fleet, const Report& report);

}  // namespace dedloc::plan
