// A run in a project's folder and database, with held-out text and real states, without a swarm.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "peer/platform/files.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/database/evaluations.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::evaluate {

/// How a MeasuredRun is made.
struct MeasuredRunOptions {
    std::string name = "tiny";
    std::uint64_t steps = 12;    ///< updates until it is finished
    std::uint64_t every = 3;     ///< steps between evaluations
    std::uint64_t samples = 40;  ///< samples of an evaluation
    std::size_t keep = 3;        ///< checkpoints that are kept
};

class MeasuredRun {
  public:
    explicit MeasuredRun(server::TestProject& project, const MeasuredRunOptions& options = {})
        : project_(project),
          run_(make_run(options)),
          folder_(project.root() / "runs" / options.name),
          state_(state::tensor_ranges(run_), state::optimizer_settings(run_)),
          store_(folder_ / "checkpoints", formats::run_id(run_), options.keep) {
        std::filesystem::create_directories(folder_ / "held_out");
        platform::replace_file(folder_ / "run.json", formats::write_run_file(run_));
        platform::replace_file(held_out(), test::skewed_shard(run_, 2).file);
        state_.initialise(state::initial_parameters(run_));
        project.database().execute(
            "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
            "credit_per_sample, created, evaluate_every, evaluate_samples) "
            "values (?, ?, '{}', 12, ?, 1e6, 1, 0, ?, ?)",
            {run_.name, formats::run_id(run_).hex(), options.steps, options.every,
             options.samples});
        row_ = project.database().insert_id();
    }

    const formats::RunFile& run() const { return run_; }
    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path held_out() const { return folder_ / "held_out" / "shard_b"; }
    std::int64_t row() const { return row_; }
    const state::ModelState& state() const { return state_; }

    /// An update that the ledger has, but not yet the digest of its state.
    void step() {
        FloatVector average(state_.element_count());
        for (float& x : average) x = static_cast<float>(random_.near_normal());
        state_.apply(average,
                     state::update_scalars(state::optimizer_settings(run_), state_.step()));
        project_.database().execute(
            "insert into dedloc_step (runid, step, samples, loss, learning_rate, members, "
            "equal_digests, digest, seconds, committed_at) values (?, ?, 12, 5, 0.1, 1, 1, '', 1, "
            "1) on duplicate key update digest = ''",
            {row_, state_.step().value()});
    }
    /// The ledger has the digest of the present state.
    void prove() {
        project_.database().execute(
            "update dedloc_step set digest = ? where runid = ? and step = ?",
            {state_.digest().hex(), row_, state_.step().value()});
    }
    /// Writes the present state as a checkpoint.
    std::filesystem::path save() const {
        return store_.save({.step = state_.step(),
                            .digest = state_.digest(),
                            .elements = state_.element_count(),
                            .vectors = state_.vector_count()},
                           state_.bytes());
    }
    /// Trains until this step, with a checkpoint and a proof of each state.
    void train_to(std::uint64_t last) {
        while (state_.step().value() < last) {
            step();
            save();
            prove();
        }
    }
    /// Begins again from the first state, as a generation does; other updates follow.
    void begin_again() {
        state_.initialise(state::initial_parameters(run_));
        random_ = Random{8};
        project_.database().execute("delete from dedloc_step where runid = ?", {row_});
        store_.remove_after(StepIndex{0});
    }

    std::vector<server::EvaluationRow> rows() const {
        return server::read_evaluations(project_.database(), row_);
    }
    /// The steps that are evaluated, as "0 3 6".
    std::string steps() const {
        std::string text;
        for (const auto& row : rows()) {
            text += (text.empty() ? "" : " ") + std::to_string(row.step);
        }
        return text;
    }

  private:
    static formats::RunFile make_run(const MeasuredRunOptions& options) {
        formats::RunFile run = test::tiny_run();
        run.name = options.name;
        run.steps = options.steps;
        run.project_key = KeyPair::generate().public_key();
        run.backbone_key = KeyPair::generate().public_key();
        const formats::Shard shard = test::skewed_shard(run, 2);
        run.shards = {{.name = "shard_a", .digest = {}, .bytes = 5},
                      {.name = "shard_b",
                       .digest = blake2b(shard.file),
                       .bytes = shard.file.size(),
                       .is_held_out = true}};
        return run;
    }

    server::TestProject& project_;
    const formats::RunFile run_;
    const std::filesystem::path folder_;
    Random random_{7};
    state::ModelState state_;
    const backbone::CheckpointStore store_;
    std::int64_t row_ = 0;  ///< dedloc_run.id
};

}  // namespace dedloc::evaluate
