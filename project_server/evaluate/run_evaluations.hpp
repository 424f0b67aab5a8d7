// The daemon's work: measures the states of the project's runs on held-out data while they train,
// and writes the figures into dedloc_evaluation and dedloc_figure, and what the model answers to
// masked sentences into dedloc_answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>

#include "peer/platform/stop_signals.hpp"
#include "project_server/database/database.hpp"
#include "project_server/evaluate/loaded_state.hpp"

namespace dedloc::evaluate {

/// Settings of RunEvaluations.
struct EvaluationOptions {
    std::filesystem::path project;  ///< the project's folder
    unsigned threads = 1;           ///< compute threads, at least 1
};

/// Evaluates states of a project's runs, one after the other, on threads that run only while
/// processors are idle.
///
/// States   the initial one; then the newest checkpoint when it is at least
///          dedloc_run.evaluate_every steps (0: none) after the last one evaluated; the final one
/// Rows     A checkpoint counts only if dedloc_step has its digest at its step, which the ledger
///          proves. A row of dedloc_evaluation is valid if the same holds for its digest; else its
///          step has become void, and the row is replaced when another state is evaluated at that
///          step. So there is one row for each (run, step), also with several of these daemons.
/// Crash    A row is written with its figures in one transaction, and a file of batch norms'
///          statistics as a whole; everything else is only read.
/// Thread   main, which watches the signals
class RunEvaluations {
  public:
    /// `signals` must outlive it.
    RunEvaluations(EvaluationOptions options, const platform::StopSignals& signals);
    ~RunEvaluations();
    RunEvaluations(const RunEvaluations&) = delete;
    RunEvaluations& operator=(const RunEvaluations&) = delete;

    /// Evaluates at most one state of each run. Returns early when a signal has arrived; if the
    /// computation then does not stop within half a second, ends the process with status 0.
    ///
    /// A run that cannot be evaluated (held-out shards missing or damaged, no memory) is logged in
    /// one sentence, once, and tried again a minute later; the other runs go on. Figures that could
    /// not be written are kept and written by the next call.
    ///
    /// Errors  DatabaseError
    void pass(server::Database& database);

  private:
    struct Run;      // what is kept of a run between passes
    struct RunRow;   // what the database says of it
    struct Source;   // a state to evaluate
    struct Figures;  // a row to write

    void visit(server::Database& database, const RunRow& row, Run& run);
    void evaluate(const Source& source, const RunRow& row, Run& run);
    std::unique_ptr<Figures> measure(const Source& source, const RunRow& row, Run& run,
                                     const IsInterrupted& is_interrupted) const;
    /// Writes the figures that are not written yet, if there are any.
    void write(server::Database& database);
    /// Runs `work` on a thread of low priority and returns its result.
    template <class Work>
    auto when_idle(const Work& work) const;

    const EvaluationOptions options_;
    const platform::StopSignals& signals_;
    std::map<std::int64_t, std::unique_ptr<Run>> runs_;  ///< the key is dedloc_run.id
    std::unique_ptr<Figures> unwritten_;
};

}  // namespace dedloc::evaluate
