// dedloc_train: the app that volunteers run; it takes one seat in a swarm. Under a BOINC client all
// files are in the slot; from a terminal, options name them. `dedloc_train local` needs no swarm.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boinc_app/boinc_runtime.hpp"
#include "boinc_app/local_command.hpp"
#include "boinc_app/seat.hpp"
#include "boinc_app/shard_files.hpp"
#include "boinc_app/temporary_exits.hpp"
#include "boinc_app/training/device_error.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"

namespace dedloc {
namespace {

constexpr int kFailure = 1;
constexpr int kBadArguments = 2;
constexpr const char* kTemporaryExits = "temporary_exits";  ///< file in the slot

struct Options {
    std::string run = "run.json";
    std::vector<std::string> shards;  ///< empty: shard_0, shard_1 … as many as a job has
    std::string receipt = "receipt";
    std::string listen;
    std::string ticket;
    std::string device = "cpu";
    unsigned threads = 0;
    double hours = 0;
    int message_seconds = 3'600;
    SeatOptions seat;
    LocalOptions local;
    std::string held_out;  ///< folder of held-out shards for `local`; empty: none
};

formats::RunFile read_run_file(const std::filesystem::path& path) {
    const Buffer bytes = platform::read_file(path, formats::kMaxRunFileBytes);
    return formats::parse_run_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Reads a ticket in hex digits, as `dedloc-peer ticket` writes it.
formats::SignedTicket read_ticket(const std::filesystem::path& path) {
    const Buffer text = platform::read_file(path, 4 * wire::kTicketBytes);
    std::string_view digits{reinterpret_cast<const char*>(text.data()), text.size()};
    while (digits.ends_with('\n')) digits.remove_suffix(1);
    Buffer bytes(wire::kTicketBytes);
    const auto ticket = from_hex(digits, bytes) ? formats::decode_ticket(bytes) : std::nullopt;
    if (!ticket) throw InputError{fmt::format("{} holds no ticket", path.string())};
    return *ticket;
}

/// The files that options name, else those of the job.
std::vector<std::filesystem::path> shard_paths(const Options& options, const formats::RunFile& run,
                                               VolunteerRuntime& runtime) {
    std::vector<std::string> names = options.shards;
    for (std::size_t i = 0; options.shards.empty() && i < formats::shards_per_job(run); ++i) {
        names.push_back(fmt::format("shard_{}", i));
    }
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(runtime.resolve(name));
    return paths;
}

void write_receipt(const Seat& seat, const std::string& name, VolunteerRuntime& runtime) {
    const auto path = runtime.resolve(name);
    const Writing writing{runtime};
    platform::replace_file(path, seat.receipt());
    log_info("the receipt is in {}", path.string());
}

/// `dedloc_train local`. Returns the exit status.
int train_alone(const Options& options) {
    try {
        const formats::RunFile run = read_run_file(options.run);
        const std::vector<std::filesystem::path> paths{options.shards.begin(),
                                                       options.shards.end()};
        const std::vector<formats::Shard> shards = open_shards(paths, run);
        std::vector<formats::Shard> held_out;
        if (!options.held_out.empty()) held_out = open_held_out_shards(options.held_out, run);
        return train_locally(run, shards, held_out, options.local);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dedloc_train: %s\n", error.what());
        return kFailure;
    }
}

/// How the process must end.
struct Outcome {
    SeatEnd end = SeatEnd::kDone;
    int status = 0;
    std::string why_later{};  ///< why the job cannot go on now; empty: it ends
};

Outcome train(const Options& options, VolunteerRuntime& runtime, TemporaryExits& exits) {
    try {
        const formats::RunFile run = read_run_file(runtime.resolve(options.run));
        const std::vector<formats::Shard> shards =
            open_shards(shard_paths(options, run, runtime), run);
        SeatOptions seat_options = options.seat;
        seat_options.has_trained = [&exits] { exits.reset(); };
        if (!options.ticket.empty()) seat_options.ticket = read_ticket(options.ticket);
        Seat seat{run, shards, seat_options, runtime};
        const SeatEnd end = seat.run();
        if (end == SeatEnd::kDone) write_receipt(seat, options.receipt, runtime);
        return {
            .end = end, .status = 0, .why_later = end == SeatEnd::kUnreachable ? seat.why() : ""};
    } catch (const training::DeviceError& error) {
        // The GPU may be back later, or after the volunteer has updated the driver.
        return {.end = SeatEnd::kDone, .status = kFailure, .why_later = error.what()};
    } catch (const std::exception& error) {
        log_error("{}", error.what());
        return {.end = SeatEnd::kDone, .status = kFailure};
    }
}

[[noreturn]] void come_back_later(const std::string& reason, VolunteerRuntime& runtime,
                                  TemporaryExits& exits) {
    log_warning("{}", reason);
    std::chrono::seconds delay{};
    if (is_in_boinc_slot()) {
        delay = exits.next_delay();
        log_info("trying again in {} minutes",
                 std::chrono::duration_cast<std::chrono::minutes>(delay).count());
    }
    runtime.come_back_in(delay, reason);
    std::abort();  // come_back_in does not return
}

[[noreturn]] void end_process(const Outcome& outcome, VolunteerRuntime& runtime,
                              TemporaryExits& exits) {
    if (!outcome.why_later.empty()) come_back_later(outcome.why_later, runtime, exits);
    switch (outcome.end) {
        case SeatEnd::kDone:
            runtime.finish(outcome.status);
            break;
        case SeatEnd::kQuit:
            log_info("quit requested: left the swarm, the receipt journal is kept");
            runtime.quit();
            break;
        case SeatEnd::kUnreachable:
            break;  // has a reason to come back later
    }
    std::abort();  // none of the three returns
}

void add_device_option(CLI::App& app, Options& options) {
    app.add_option("--device", options.device,
                   "what computes: cpu, cuda, cuda:N (the GPU with number N), or auto (a GPU if it "
                   "can be used); a GPU that the BOINC client gives the job comes first")
        ->capture_default_str();
}

void add_options(CLI::App& app, Options& options) {
    app.add_option("--run", options.run, "run file (default: run.json of the slot)");
    app.add_option("--shard", options.shards, "shard file; repeat for each (default: shard_0 …)");
    app.add_option("--receipt", options.receipt, "output file for the signed receipt");
    app.add_option("--key", options.seat.key, "key file, created if absent");
    app.add_option("--journal", options.seat.journal, "journal of contributions");
    app.add_option("--listen", options.listen, "numeric HOST:PORT where peers can dial us");
    app.add_flag("--map-port,!--no-map-port", options.seat.maps_port,
                 "ask the router, by UPnP, PCP and NAT-PMP, to forward a port to us");
    app.add_option("--ticket", options.ticket,
                   "ticket file, if there is no BOINC client to get a ticket through");
    app.add_option("--threads", options.threads, "CPUs to use outside BOINC; 0: all");
    add_device_option(app, options);
    app.add_option("--micro-batch", options.seat.micro_batch,
                   "samples computed at once; 0: as suits model, memory and CPUs")
        ->check(CLI::Range(0, 65'536));
    // The client appends what the volunteer has written in app_config.xml to the job's arguments.
    app.add_option("--hours", options.hours, "leave the swarm after so many hours; 0: never")
        ->check(CLI::Range(0.0, 100'000.0))
        ->take_last();
    app.add_option("--message-seconds", options.message_seconds,
                   "least time between two messages that tell the project of new samples, so that "
                   "it credits them")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str()
        ->take_last();
}

CLI::App* add_local_command(CLI::App& app, Options& options) {
    auto* const command = app.add_subcommand(
        "local", "Train the run in this process alone, without a swarm; prints loss and speed");
    command->add_option("--run", options.run, "run file")->required();
    command->add_option("--shard", options.shards, "shard file; repeat for each")->required();
    command->add_option("--steps", options.local.steps, "steps to train; 0: those of the run");
    command->add_option("--peer", options.local.peer,
                        "key, in hex digits, of the peer whose samples are drawn (default: zeros)");
    command->add_option("--threads", options.local.threads, "CPUs to use; 0: all");
    add_device_option(*command, options);
    command
        ->add_option("--micro-batch", options.local.micro_batch,
                     "samples computed at once; 0: as suits model, memory and CPUs")
        ->check(CLI::Range(0, 65'536));
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

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    using namespace dedloc;
    platform::raise_descriptor_limit();
    Options options;
    CLI::App app{"Takes a seat in a DeDLOC@home swarm and trains until the run is finished."};
    add_options(app, options);
    const CLI::App* const local = add_local_command(app, options);
    app.set_version_flag("--version", "dedloc_train " + version());
    const bool is_in_slot = is_in_boinc_slot();
    app.allow_extras(is_in_slot);  // a typo in a volunteer's app_config.xml must not fail jobs
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kBadArguments;
    }
    const auto device = parse_device(options.device);
    if (!device && !is_in_slot) {
        std::fprintf(stderr, "dedloc_train: --device wants cpu, cuda, cuda:N or auto, not '%s'\n",
                     options.device.c_str());
        return kBadArguments;
    }
    options.seat.device = options.local.device = device.value_or(DeviceChoice{});
    if (local->parsed()) return train_alone(options);
    if (!options.listen.empty()) {
        options.seat.listen = net::parse_endpoint(options.listen);
        if (!options.seat.listen) {
            std::fprintf(stderr, "dedloc_train: --listen wants a numeric HOST:PORT, not '%s'\n",
                         options.listen.c_str());
            return kBadArguments;
        }
    }
    // Rounded up: 0 would be no lease.
    options.seat.lease = std::chrono::seconds{static_cast<long>(std::ceil(options.hours * 3'600))};
    options.seat.message_interval = std::chrono::seconds{options.message_seconds};

    std::unique_ptr<VolunteerRuntime> runtime;
    try {
        runtime = is_in_slot ? make_boinc_runtime() : make_standalone_runtime(options.threads);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dedloc_train: %s\n", error.what());
        return kFailure;
    }
    start_log("dedloc_train");
    for (const std::string& word : app.remaining()) {
        log_warning("unknown argument {} is ignored", word);
    }
    if (!device) log_warning("unknown device {} is ignored", options.device);
    TemporaryExits exits{kTemporaryExits};
    const Outcome outcome = train(options, *runtime, exits);
    end_process(outcome, *runtime, exits);
}
