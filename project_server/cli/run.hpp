// Runs of a project: making one, and what its rows say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "project_server/cli/project.hpp"

namespace dedloc::cli {

struct RunOptions {
    std::filesystem::path project;
    std::filesystem::path corpus;
    std::string name;
    std::string model = "tiny";
    std::uint64_t steps = 0;
    std::uint64_t seed = 42;
    Codec codec = Codec::kFp32;
    std::optional<std::uint64_t> micro_batch;   ///< absent: the model's own
    std::optional<std::uint64_t> target_batch;  ///< absent: the model's own
    std::optional<double> learning_rate;        ///< absent: the model's own
};

/// Makes PROJECT/runs/NAME (run file, shards, tokenizer, backbone key) and enters the run as
/// running; dedloc-work then offers its files and jobs to volunteers. A failed creation leaves no
/// run. Errors: InputError (name taken or unusable, no corpus, …), IoError, DatabaseError.
formats::RunFile create_run(const RunOptions& options);

struct StepLine {
    std::uint64_t step = 0;  ///< updates done
    double loss = 0;
    std::uint64_t samples = 0;
    double seconds = 0;
    int members = 0;
    int equal_digests = 0;
};

struct RunStatus {
    std::string name;
    std::string state;
    std::uint64_t steps = 0;  ///< updates until it is finished
    int peers = 0;            ///< trainers that work now
    double samples_per_second = 0;
    std::vector<StepLine> lines;  ///< in order of steps
    std::string final_digest;
};

/// The run with its steps after `after`. Errors: InputError when there is no such run.
RunStatus run_status(server::Database& database, const std::string& name, std::uint64_t after);

/// running ↔ paused. Errors: InputError when there is no such run or it is finished.
void set_run_state(server::Database& database, const std::string& name, const std::string& state);

struct LeaderLine {
    std::string user;
    std::string team;
    double credit = 0;
    int hosts = 0;
};
/// Users by credit, the highest first.
std::vector<LeaderLine> leaderboard(server::Database& database, int count);

/// What a finished run must satisfy, from the database.
struct RunReport {
    std::uint64_t samples = 0;       ///< of all contributions
    std::uint64_t uncredited = 0;    ///< contributions without credit
    std::uint64_t open_results = 0;  ///< jobs at a host or reported and not validated
    double rate = 0;                 ///< credit per sample
    double credit_of_lines = 0;      ///< Σ over contributions
    double credit_of_users = 0;      ///< Σ over all users of the project
    std::uint64_t equal_steps = 0;   ///< steps at which all members had the same digest
    bool credit_agrees() const;
};
/// Errors: InputError when there is no such run.
RunReport run_report(server::Database& database, const std::string& name);

}  // namespace dedloc::cli
