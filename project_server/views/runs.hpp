// The training runs: one reader, and what pages and the command line show of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/figures.hpp"
#include "project_server/database/database.hpp"
#include "project_server/json/value.hpp"
#include "project_server/views/run_history.hpp"

namespace dedloc::server {

/// The last valid figures of a run on held-out data.
struct HeldOut {
    std::uint64_t step = 0;                          ///< number of updates done
    double loss = 0;                                 ///< mean loss
    std::vector<formats::MeasuredFigure> figures{};  ///< those of the run's task
};

/// A run, as far as the database knows.
struct RunView {
    std::int64_t id = 0;                     ///< dedloc_run.id
    std::string name;                        ///< unique
    std::string state;                       ///< "running", "paused" or "finished"
    double created = 0;                      ///< UTC seconds
    std::int64_t step = 0;                   ///< number of updates done
    std::int64_t steps = 0;                  ///< updates until it is finished
    std::int64_t target_batch = 0;           ///< samples of a step
    std::optional<double> loss{};            ///< training loss of the last update, in nats
    double recorded = 0;                     ///< time of the last update, UTC seconds; 0: never
    double credit_per_sample = 0;            ///< rate
    double credit_per_gigabyte_reduced = 0;  ///< rate, for 10⁹ bytes
    std::string final_digest{};              ///< digest of the last state, hex; empty before
    std::string architecture{};              ///< its model's; empty: the database was not asked
    std::optional<HeldOut> held_out{};       ///< nothing before an evaluation
};

/// The runs that are read.
struct RunChoice {
    std::optional<std::string> name{};  ///< only this one
    bool is_unfinished = false;         ///< only those that are not finished
    int limit = 100;                    ///< the most runs
};

/// The runs, the newest first. Errors: DatabaseError. Cost: a few rows of indices for each.
std::vector<RunView> read_runs(Database& database, const RunChoice& choice);
/// The run of this name. Errors: InputError (there is none), DatabaseError.
RunView read_run(Database& database, const std::string& name);

/// The peers of a run.
struct RunPeers {
    std::int64_t joining = 0;               ///< peers that are not at work yet
    std::int64_t working = 0;               ///< peers at work
    double samples_per_second = 0;          ///< sum over the peers at work
    std::int64_t trainers = 0;              ///< trainers at work
    double trainer_samples_per_second = 0;  ///< sum over these trainers
};
/// Those that join or work now. Errors: DatabaseError. Cost: the seats of the run.
RunPeers read_peers(Database& database, std::int64_t run);

/// {name, state, step, steps, has_steps, loss, held_out}: a run in the list of a page. held_out:
/// {step, loss, the task's headline figures by name, figures}, false before an evaluation; figures
/// are the same for people (figure_list).
json::Value run_summary(const RunView& run);
/// run_summary() of the newest 100 runs, newest first. Errors: DatabaseError.
json::Value::List run_summaries(Database& database);

/// {runs: [{name, state, step, steps, target_batch, loss, peers, samples_per_second,
/// credit_per_sample, credit_per_gigabyte_reduced, created_at, recorded_at}]} for the command line,
/// by creation: `loss` of the last step, which was recorded at recorded_at; `peers` are the
/// trainers that work now. Errors: DatabaseError.
json::Value run_list(Database& database);

/// One run: progress, curve of at most 1,200 points [step, loss, samples per second, members,
/// computed_round_bytes()], peers of the last hour; and, unless it has not been evaluated,
/// held_out, the last figures on held-out data, held_out_curve, at most about 600 points [step,
/// loss, each headline figure], and measurements, at most 20 of them as objects with the cells of
/// their row. If the last evaluation has losses of sources, their names are in `sources`, and
/// source_curve has points [step, held-out loss of each]. add_figure_words() adds the words for
/// these, and add_answers() what the model answers to masked sentences. The user and the computer
/// of a peer are those of the result for which its ticket was issued, and are left out unless the
/// user shows their computers. `now`: UTC seconds. Nothing if there is no such run. Errors:
/// DatabaseError.
std::optional<json::Value> run_data(Database& database, RunHistories& histories,
                                    const std::string& name, double now);

}  // namespace dedloc::server
