// dedloc-evaluate: the figures of a model on text that no trainer has seen. A daemon of a project
// that follows its runs, or one state by hand. Its subcommand finetune measures models on tasks
// with labels.
#include <CLI/CLI.hpp>
#include <memory>

#include "boinc_app/albert/evaluator.hpp"
#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/evaluate/by_hand.hpp"
#include "project_server/evaluate/run_evaluations.hpp"
#include "project_server/finetune/command.hpp"

namespace {

using namespace dedloc;

constexpr const char* kPurpose =
    "Measures models on held-out data: their loss and the other figures of their task.\n"
    "With --project it is a daemon that evaluates the project's runs while they train, at the "
    "lowest priority, and writes to the database. With --run it evaluates one state and prints "
    "its figures. finetune measures how well models learn a task with labels.";

/// What the command line says.
struct Arguments {
    server::LoopOptions loop;
    evaluate::HandOptions hand;
    finetune::CommandOptions tuning;
};

server::LoopDaemon make_daemon(std::unique_ptr<evaluate::RunEvaluations>& evaluations,
                               unsigned threads) {
    return {
        .name = "dedloc-evaluate",
        .purpose = kPurpose,
        .once = "With --project: evaluate at most one state of each run, then exit",
        .connect = [&evaluations, threads](const auto& project,
                                           const auto& signals) -> server::LoopDaemon::Look {
            if (!evaluations) {
                evaluations = std::make_unique<evaluate::RunEvaluations>(
                    evaluate::EvaluationOptions{.project = project, .threads = threads}, signals);
            }
            const auto database =
                std::make_shared<server::Database>(server::load_project_config(project).database);
            log_info("Evaluating the runs of {}", project.string());
            return [&evaluations, database] { evaluations->pass(*database); };
        }};
}

void add_hand_options(CLI::App& app, evaluate::HandOptions& options, CLI::Option* project) {
    auto* const run =
        app.add_option("--run", options.run, "Run file of the state")->excludes(project);
    auto* const held_out =
        app.add_option("--held-out", options.held_out, "Folder with the run's held-out shards");
    run->needs(held_out);
    held_out->needs(run);
    app.add_option(
           "--shards", options.shards,
           "Of pictures: a folder with the run's shards to train on, for classifiers and for "
           "the statistics of batch norms; labels are beside shards")
        ->needs(run);
    app.add_option("--module", options.module, "Of a module: its file")->needs(run);
    app.add_option("--norms", options.norms,
                   "Of pictures: a folder for the statistics of batch norms, for dedloc run export "
                   "--norms")
        ->needs(run);
    auto* const checkpoint = app.add_option("--checkpoint", options.checkpoint,
                                            "State to evaluate: a checkpoint of the run");
    auto* const numbers = app.add_option(
        "--state", options.numbers,
        "Instead: a file of little-endian binary32 numbers, the flat vector of parameters");
    auto* const initial = app.add_flag("--initial", options.is_initial,
                                       "Instead: the state that the run begins with");
    for (auto* const state : {checkpoint, numbers, initial}) state->needs(run);
    checkpoint->excludes(numbers)->excludes(initial);
    numbers->excludes(initial);
    app.add_option("--ledger", options.ledger, "The run's ledger: say whether it proves the state")
        ->needs(run);
    app.add_option("--samples", options.samples, "Samples to measure")
        ->check(CLI::Range(std::uint64_t{1}, training::kMaxSamples))
        ->capture_default_str()
        ->needs(run);
    app.add_option("--micro-batch", options.micro_batch,
                   "Samples computed at once; default: as suits model, memory and CPUs")
        ->check(CLI::Range(0, 65'536))
        ->needs(run);
    app.add_flag("--json", options.prints_json, "Print a JSON object")->needs(run);
    for (auto* const option : app.get_options()) {
        if (option == run || option == held_out || option->get_needs().contains(run)) {
            option->group("One state by hand");
        }
    }
}

/// Errors: CLI::ParseError.
void require_state(const evaluate::HandOptions& options, bool is_daemon) {
    if (is_daemon) return;
    if (options.run.empty()) throw CLI::RequiredError("--project, or --run with --held-out");
    if (options.checkpoint.empty() && options.numbers.empty() && !options.is_initial) {
        throw CLI::RequiredError("--checkpoint, --state or --initial");
    }
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    unsigned threads = 0;
    std::unique_ptr<evaluate::RunEvaluations> evaluations;  // outlives the loss of a connection
    CLI::App app{kPurpose};
    auto* const project =
        server::add_loop_options(app, make_daemon(evaluations, threads), arguments.loop);
    add_hand_options(app, arguments.hand, project);
    app.add_option("--threads", threads,
                   "Compute threads; default: 1 with --project, else one for each CPU")
        ->check(CLI::Range(1, 1'024));
    auto* const tuning = finetune::add_command(app, arguments.tuning);
    app.callback([&] {
        if (!tuning->parsed()) require_state(arguments.hand, project->count() > 0);
    });
    return server::run_program(app, argc, argv, "dedloc-evaluate", [&] {
        if (tuning->parsed()) return finetune::run_command(arguments.tuning);
        if (arguments.hand.run.empty()) {
            const unsigned few = threads == 0 ? 1 : threads;
            return server::run_passes(make_daemon(evaluations, few), arguments.loop);
        }
        arguments.hand.threads = threads;
        evaluate::evaluate_by_hand(arguments.hand);
    });
}
