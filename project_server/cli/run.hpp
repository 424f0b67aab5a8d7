// Runs of a project: creates them and reads their progress from the database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/json/value.hpp"
#include "project_server/project/project.hpp"

namespace dedloc::cli {

/// Arguments of create_run().
struct RunOptions {
    std::filesystem::path project;  ///< the project's folder
    std::filesystem::path corpus;   ///< a folder made by build_corpus()
    std::string name;               ///< 1 to 40 letters, digits, - and _
    std::string model = "tiny";     ///< name of a ModelPreset
    std::filesystem::path from;     ///< Hugging Face folder to start from, or empty
    std::uint64_t steps = 0;        ///< updates until the run is finished
    std::uint64_t seed = 42;        ///< seed of the first parameters
    Codec codec = Codec::kFp32;     ///< how gradients are encoded between peers
    std::uint64_t job_bytes = std::uint64_t{256} << 20;  ///< most bytes of shards in a job
    bool overlaps = false;                               ///< computes while a round is on its way
    std::optional<std::uint64_t> target_batch;           ///< absent: the preset's
    formats::Optimizer optimizer = formats::Optimizer::kLamb;  ///< how parameters are updated
    std::optional<formats::Schedule> schedule;    ///< absent: the usual one of the optimizer
    std::optional<std::uint64_t> warmup_steps;    ///< absent: a tenth of the steps, at least 1
    std::optional<double> learning_rate;          ///< absent: of LAMB the preset's, else the usual
    std::optional<double> weight_decay;           ///< absent: the usual one of the optimizer
    std::optional<double> clip_norm;              ///< absent: the usual one of the optimizer
    std::optional<std::uint64_t> evaluate_every;  ///< steps; 0: none; absent: a fiftieth of all
    std::uint64_t evaluate_samples = 1'024;       ///< held-out samples of an evaluation
    double credit_per_gigabyte = 20;              ///< for averaging 10⁹ bytes of gradients
    int aggregators = 8;  ///< the most jobs that only average, at the same time
    /// Dropout rates of hidden values, attention's weights and the classifier; empty: none.
    std::vector<double> dropout;
};

/// What create_run() has created.
struct CreatedRun {
    formats::RunFile run;  ///< the run's file
    /// Tensors that the folder to start from lacks: they have a new run's first values.
    std::vector<std::string> initialised;
};

/// Creates PROJECT/runs/NAME (run file, shards, tokenizer, backbone key) and enters the run into
/// the database as running; dedloc-work then offers its files and jobs to volunteers. A failed
/// creation leaves no run. `begins` is told what takes long.
///
/// With `from` the model and its parameters come from that folder, and the settings of training
/// from the preset of that name. The run file then names the digest of the first state, and the
/// backbone finds that state as checkpoint 0.
///
/// Errors  InputError (name taken or unusable, no corpus, an unusable model, …),
///         IoError, DatabaseError
CreatedRun create_run(const RunOptions& options, const project::Begins& begins);

/// One step of a run.
struct StepLine {
    std::uint64_t step = 0;     ///< number of updates done
    double loss = 0;            ///< mean over the step's samples, in nats
    std::uint64_t samples = 0;  ///< sum over all contributions
    double seconds = 0;         ///< duration of the step
    int members = 0;            ///< members of the round
    int equal_digests = 0;      ///< members that reported the same digest; 0: none has reported yet
};

/// Progress of a run.
struct RunStatus {
    std::string name;               ///< the run's name
    std::string state;              ///< "running", "paused" or "finished"
    std::uint64_t steps = 0;        ///< updates until it is finished
    int peers = 0;                  ///< trainers that work now
    double samples_per_second = 0;  ///< sum over these trainers
    std::vector<StepLine> lines;    ///< ascending by step
    std::string final_digest;       ///< digest of the last state, hex; empty until finished
    std::vector<server::EvaluationRow> held_out;  ///< figures on held-out text, ascending by step
    bool is_live = false;            ///< its backbone answers: the next two are of the present
    std::uint64_t samples = 0;       ///< computed for the next step
    std::uint64_t target_batch = 0;  ///< samples of a step
};

/// The run's number in the database (dedloc_run.id). Errors: InputError when there is no such run.
std::int64_t run_number(server::Database& database, const std::string& name);

/// {runs: [{name, state, step, steps, target_batch, loss, peers, samples_per_second,
/// credit_per_sample, credit_per_gigabyte_reduced, created_at, recorded_at}]} as the database has
/// it, by creation: `loss` of the
/// last step, which was recorded at recorded_at; `peers` are the trainers that work now.
json::Value run_list(server::Database& database);

/// The run and its steps after step `after`. Errors: InputError when there is no such run.
RunStatus run_status(server::Database& database, const std::string& name, std::uint64_t after);

/// One user of the leaderboard.
struct LeaderLine {
    std::string user;   ///< name
    std::string team;   ///< name; empty without a team
    double credit = 0;  ///< total credit
    int hosts = 0;      ///< number of computers
};
/// The first `count` users by credit, descending. With `has_other_apps` the accounts also have
/// credit of other apps, and what our runs gave counts.
std::vector<LeaderLine> leaderboard(server::Database& database, int count,
                                    bool has_other_apps = false);

/// Sums over a run's tables, to check credit and digests, also while the run goes on.
struct RunReport {
    std::uint64_t samples = 0;         ///< sum over all credited contributions
    std::uint64_t reduced_bytes = 0;   ///< sum over all credited contributions
    std::uint64_t uncredited = 0;      ///< contributions that dedloc-credit has not looked at yet
    std::uint64_t withheld = 0;        ///< samples withheld because of revocations
    std::uint64_t withheld_bytes = 0;  ///< reduced bytes withheld because of revocations
    std::uint64_t unowned = 0;         ///< samples of keys without a ticket
    std::uint64_t unowned_bytes = 0;   ///< bytes that they reduced: also the project's backbones
    std::uint64_t open_results = 0;    ///< its jobs in progress, or reported and not validated
    double rate = 0;                   ///< credit per sample
    double gigabyte_rate = 0;          ///< credit per 10⁹ reduced bytes
    double credit_of_lines = 0;        ///< sum over all contributions
    double credit_of_all_runs = 0;     ///< sum over the contributions to all runs of the project
    double credit_of_users = 0;        ///< sum over all users of the project, also deleted ones
    bool has_other_apps = false;       ///< users also have credit of a server's other apps
    std::vector<std::string> withholdings{};  ///< a sentence for each revocation
    std::uint64_t equal_steps = 0;            ///< steps at which all members had the same digest
    std::uint64_t unsettled_steps = 0;        ///< steps whose digests are not known yet
    /// Credit of all samples and reduced bytes at the run's rates.
    double credit_due() const;
    /// Whether the credit is what is due for the contributions that are credited, and users have
    /// the credit of all runs. Contributions that are pending are no difference. What users have is
    /// not compared if the server has other apps.
    bool credit_agrees() const;
};
/// Reads the report of a run. While the run goes on, only within a transaction do its sums belong
/// together. Errors: InputError when there is no such run.
RunReport run_report(server::Database& database, const std::string& name,
                     bool has_other_apps = false);

}  // namespace dedloc::cli
