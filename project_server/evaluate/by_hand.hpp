// dedloc-evaluate by hand: the figures of one state, as text or JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "boinc_app/training/evaluation.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/evaluate/loaded_state.hpp"

namespace dedloc::evaluate {

/// The command line. Exactly one of checkpoint, numbers and is_initial is given.
struct HandOptions {
    std::filesystem::path run;         ///< run.json
    std::filesystem::path held_out;    ///< folder of the held-out shards
    std::filesystem::path shards;      ///< folder of pictures to train on; empty: they are not used
    std::filesystem::path module;      ///< the module that the run trains; empty: it trains none
    std::filesystem::path norms;       ///< folder for batch norms' statistics; empty: not written
    std::filesystem::path checkpoint;  ///< a checkpoint of the run; empty: none
    std::filesystem::path numbers;     ///< a file of plain numbers; empty: none
    bool is_initial = false;           ///< the state that the run begins with
    std::filesystem::path ledger;      ///< the run's ledger, to prove the state; empty: none
    std::uint64_t samples = training::kUsualSamples;  ///< number of samples
    std::uint64_t micro_batch = 0;  ///< samples computed at once; 0: as suits this machine
    unsigned threads = 0;           ///< compute threads; 0: all CPUs
    bool prints_json = false;       ///< a JSON object instead of text
};

/// One evaluation, to be printed.
struct HandReport {
    const formats::RunFile& run;     ///< the state's run
    const LoadedState& state;        ///< what was evaluated
    Proof proof;                     ///< its clause is "not checked against a ledger" without one
    training::Evaluation figures{};  ///< what was measured
    double seconds = 0;              ///< how long that took
    unsigned threads = 1;            ///< compute threads
};

/// A few lines for a person.
std::string report_text(const HandReport& report);
/// One JSON object in one line. Figures that are not finite are null.
std::string report_json(const HandReport& report);

/// Loads the state, evaluates it and prints the report.
/// Errors: InputError, IoError in one sentence: a file that is missing or cannot be used.
void evaluate_by_hand(const HandOptions& options);

}  // namespace dedloc::evaluate
