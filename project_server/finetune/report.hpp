// Results of fine-tuning as a table, as JSON, and as a section of a model card.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/finetune/fine_tuning.hpp"

namespace dedloc::finetune {

/// Mean and deviation of a figure over seeds.
struct Spread {
    double mean = 0;       ///< the sum divided by n
    double deviation = 0;  ///< that of a sample: √(Σ(x − mean)² ÷ (n − 1)); 0 for one value
};
/// Mean and deviation. Requires a value (aborts).
Spread spread_of(std::span<const double> values);

/// One training.
struct SeedResult {
    std::uint64_t seed = 0;  ///< its seed
    TuningResult result{};   ///< its result
};

/// A model's trainings.
struct ModelResults {
    std::string name;               ///< as in the table
    std::vector<SeedResult> seeds;  ///< at least one
};

/// What was done to all models.
struct TuningReport {
    Task task = Task::kNames;            ///< the task
    std::string data;                    ///< the folder of the data
    Protocol protocol{};                 ///< how models were trained
    std::uint64_t train = 0;             ///< examples to train on
    std::uint64_t valid = 0;             ///< examples to choose an epoch with
    std::uint64_t test = 0;              ///< examples that are measured
    std::uint64_t labels = 0;            ///< number of labels
    std::uint64_t unmeasured = 0;        ///< words of the test data that no model of these sees
    std::vector<ModelResults> models{};  ///< in the order of the table
};

/// A few lines for a person.
std::string report_text(const TuningReport& report);
/// One JSON object in one line.
std::string report_json(const TuningReport& report);
/// A Markdown section, "## Fine-tuned …", between two comments that name the task.
std::string card_section(const TuningReport& report);
/// The card with this section in place of that of the same task, or at its end.
std::string card_with_section(std::string card, const TuningReport& report);

}  // namespace dedloc::finetune
