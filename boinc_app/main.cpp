// dedloc_train: the app that volunteers run to train; it takes one seat in a swarm. Under a BOINC
// client all files are in the slot; from a terminal, options name them. `dedloc_train local` needs
// no swarm. What it shares with dedloc_aggregate is in seat/program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "boinc_app/local_command.hpp"
#include "boinc_app/module_commands.hpp"
#include "boinc_app/runtime/boinc_runtime.hpp"
#include "boinc_app/seat/program.hpp"
#include "boinc_app/tasks/open_evaluator.hpp"
#include "boinc_app/tasks/open_task.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training_worker.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/formats/module_spec.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/descriptors.hpp"

namespace dedloc {
namespace {

constexpr const char* kName = "dedloc_train";

struct Options {
    seat::Arguments seat;
    std::vector<std::string> shards;  ///< empty: shard_0, shard_1 … as many as a job has
    std::string module = "module";    ///< file, if the run trains one
    std::string device = "cpu";
    std::string precision = "auto";
    std::uint64_t micro_batch = 0;
    LocalOptions local;
    std::string held_out;  ///< folder of held-out shards for `local`; empty: none
};

/// The files that options name, else those of the job.
tasks::TaskFiles task_files(const Options& options, const formats::RunFile& run,
                            runtime::VolunteerRuntime& runtime) {
    std::vector<std::string> names = options.shards;
    // All jobs with the same sources have equally many shards.
    const std::size_t count = names.empty() ? formats::shards_of_job(run, 0).size() : 0;
    for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("shard_{}", i));
    tasks::TaskFiles files;
    for (const std::string& name : names) files.shards.push_back(runtime.resolve(name));
    if (formats::architecture_of(run) == formats::kModule) {
        files.module = runtime.resolve(options.module);
    }
    return files;
}

/// `dedloc_train local`. Returns the exit status.
int train_alone(const Options& options) {
    try {
        formats::RunFile run = seat::read_run_file(options.seat.run);
        seat::add_sources(run, {options.seat.sources.begin(), options.seat.sources.end()});
        const auto task = tasks::open_task(
            run,
            {.shards = {options.shards.begin(), options.shards.end()}, .module = options.module});
        OpenEvaluator open_evaluator;
        if (!options.held_out.empty()) {
            open_evaluator = [&](std::uint64_t micro_batch) {
                return tasks::open_evaluator(run, {.held_out = options.held_out,
                                                   .module = options.module,
                                                   .samples = options.local.evaluate_samples,
                                                   .micro_batch = micro_batch});
            };
        }
        return train_locally(run, *task, open_evaluator, options.local);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", kName, error.what());
        return seat::kFailure;
    }
}

void add_device_option(CLI::App& app, Options& options) {
    app.add_option("--device", options.device,
                   "what computes: cpu, cuda, cuda:N (the GPU with number N), or auto (a GPU if it "
                   "can be used); a GPU that the BOINC client gives the job comes first")
        ->capture_default_str();
    app.add_option("--precision", options.precision,
                   "of a processor's matrix products: fp32, bf16, or auto (by a trial of seconds, "
                   "which also chooses threads and micro-batches; a network other than ALBERT "
                   "has fp32)")
        ->check(CLI::IsMember({"auto", "fp32", "bf16"}))
        ->capture_default_str();
}

void add_micro_batch_option(CLI::App& app, std::uint64_t& micro_batch) {
    app.add_option("--micro-batch", micro_batch,
                   "samples computed at once; 0: by the trial of --precision auto, else as suits "
                   "model, memory and CPUs")
        ->check(CLI::Range(0, 65'536));
}

void add_module_option(CLI::App& app, Options& options) {
    app.add_option("--module", options.module, "file of the module that the run trains, if it does")
        ->capture_default_str();
}

CLI::App* add_local_command(CLI::App& app, Options& options) {
    auto* const command = app.add_subcommand(
        "local", "Train the run in this process alone, without a swarm; prints loss and speed");
    command->add_option("--run", options.seat.run, "run file")->required();
    command->add_option("--shard", options.shards, "shard file; repeat for each")->required();
    command->add_option("--source", options.seat.sources,
                        "file of a source that was added to the run; repeat, in their order");
    add_module_option(*command, options);
    command->add_option("--steps", options.local.steps, "steps to train; 0: those of the run");
    command->add_option("--peer", options.local.peer,
                        "key, in hex digits, of the peer whose samples are drawn (default: zeros)");
    command->add_option("--threads", options.local.threads, "CPUs to use; 0: all");
    add_device_option(*command, options);
    add_micro_batch_option(*command, options.local.micro_batch);
    command->add_option("--contributions", options.local.contributions,
                        "compute the samples of this list, as dedloc run contributions prints it, "
                        "instead of those of one peer");
    command->add_option("--from", options.local.from,
                        "go on from this checkpoint of the run, as --out writes it");
    command->add_option("--out", options.local.out,
                        "write the last state to this file, as a checkpoint");
    auto* const held_out = command->add_option(
        "--held-out", options.held_out,
        "folder with the run's held-out shards: evaluate the first and the last state on them");
    command
        ->add_option("--evaluate-every", options.local.evaluate_every,
                     "evaluate also the states after every so many steps; 0: no other")
        ->needs(held_out);
    command
        ->add_option("--evaluate-samples", options.local.evaluate_samples,
                     "samples of an evaluation")
        ->check(CLI::Range(std::uint64_t{1}, training::kMaxSamples))
        ->capture_default_str()
        ->needs(held_out);
    return command;
}

/// Runs a command of its own and returns the exit status.
template <class Command>
int run_command(const Command& command) {
    try {
        command();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", kName, error.what());
        return seat::kFailure;
    }
}

CLI::App* add_describe_command(CLI::App& app, DescribeOptions& options) {
    auto* const command = app.add_subcommand(
        "describe", "Check a TorchScript module as trainers do, and write a run file for it");
    command->add_option("--module", options.module, "module, as torch.jit.save writes it")
        ->required();
    command->add_option("--shard", options.shards, "shard file; repeat for each")->required();
    command->add_option("--out", options.out, "run file to write")->required();
    command->add_option("--name", options.name, "name of the run")->capture_default_str();
    command->add_option("--sequence-length", options.sequence_length, "tokens of a sample of text")
        ->capture_default_str();
    command
        ->add_option("--picture-side", options.picture_side,
                     "pixels of the side of the square that a sample of pictures is")
        ->check(CLI::Range(std::uint64_t{1}, formats::kMaxPictureSide))
        ->capture_default_str();
    command->add_option("--target-batch", options.target_batch, "samples of a step")
        ->capture_default_str();
    command->add_option("--steps", options.steps, "steps of the run")->capture_default_str();
    command->add_option("--learning-rate", options.learning_rate, "highest learning rate")
        ->capture_default_str();
    return command;
}

CLI::App* add_export_command(CLI::App& app, ExportOptions& options) {
    auto* const command = app.add_subcommand(
        "export", "Write the module of a run with the parameters of a checkpoint");
    command->add_option("--run", options.run, "run file")->required();
    command->add_option("--module", options.module, "the run's module")->required();
    command->add_option("--checkpoint", options.checkpoint, "checkpoint of the run")->required();
    command->add_option("--out", options.out, "module to write")->required();
    return command;
}

/// A GPU may be back later, or after the volunteer has updated the driver.
bool is_of_device(const std::exception& error) {
    return dynamic_cast<const training::DeviceError*>(&error) != nullptr;
}

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    using namespace dedloc;
    Options options;
    CLI::App app{"Takes a seat in a DeDLOC@home swarm and trains until the run is finished."};
    seat::add_options(app, options.seat);
    app.add_option("--shard", options.shards, "shard file; repeat for each (default: shard_0 …)");
    add_module_option(app, options);
    add_device_option(app, options);
    add_micro_batch_option(app, options.micro_batch);
    const CLI::App* const local = add_local_command(app, options);
    DescribeOptions describe;
    const CLI::App* const described = add_describe_command(app, describe);
    ExportOptions exported;
    const CLI::App* const exports = add_export_command(app, exported);
    std::optional<device::Choice> device;  // nothing: an unknown one
    device::Choice choice;
    const seat::Program program{
        .name = kName,
        .worker =
            [&](const formats::RunFile& run, runtime::VolunteerRuntime& runtime) {
                if (!device) log_warning("unknown device {} is ignored", options.device);
                return training_worker(run,
                                       tasks::open_task(run, task_files(options, run, runtime)),
                                       {.device = choice, .micro_batch = options.micro_batch});
            },
        .is_temporary = is_of_device};
    if (const auto status = seat::parse_command_line(app, argc, argv, program)) return *status;
    device = device::parse_choice(options.device);
    if (!device && !runtime::is_in_boinc_slot()) {
        std::fprintf(stderr, "%s: --device wants cpu, cuda, cuda:N or auto, not '%s'\n", kName,
                     options.device.c_str());
        return seat::kBadArguments;
    }
    choice = device.value_or(choice);
    device::set_precision(choice, options.precision);
    if (described->parsed()) return run_command([&] { describe_module(describe); });
    if (exports->parsed()) {
        return run_command([&] { export_module(seat::read_run_file(exported.run), exported); });
    }
    if (local->parsed()) {
        platform::raise_descriptor_limit();
        options.local.device = choice;
        return train_alone(options);
    }
    return seat::take_seat(program, app, options.seat);
}
