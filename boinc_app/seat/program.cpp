// take_seat() checks the arguments, opens the runtime and only then starts the log. stay() does all
// work that may fail and turns each way to end into an Outcome: a damaged input fails the job and
// is deleted from a BOINC slot, so that the client downloads it again; a fault that may pass, an
// unreachable swarm or an unwritten receipt becomes a later attempt; every other exception fails
// the job. end_process() then ends the process. TemporaryExits chooses the delay before the next
// attempt; counted work resets it.
#include "boinc_app/seat/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "boinc_app/inputs/damaged_input.hpp"
#include "boinc_app/runtime/boinc_runtime.hpp"
#include "boinc_app/runtime/planned_fault.hpp"
#include "boinc_app/runtime/temporary_exits.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::seat {
namespace {

constexpr const char* kTemporaryExits = "temporary_exits";  ///< file in the slot

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

/// Returns why it cannot be written now, such as a full disk; empty: it is written.
std::string write_receipt(const Seat& seat, const std::string& name,
                          runtime::VolunteerRuntime& runtime) {
    const auto path = runtime.resolve(name);
    const runtime::Writing writing{runtime};
    try {
        platform::replace_file(path, seat.receipt());
    } catch (const IoError& error) {
        return error.what();
    }
    log_info("the receipt is in {}", path.string());
    return {};
}

/// The files that options name, else those that the job has.
std::vector<std::filesystem::path> source_files(const Arguments& arguments,
                                                runtime::VolunteerRuntime& runtime) {
    std::vector<std::filesystem::path> files{arguments.sources.begin(), arguments.sources.end()};
    if (!files.empty() || !runtime::is_in_boinc_slot()) return files;
    for (std::size_t i = 0; i < formats::kMaxSources; ++i) {
        const std::string name = fmt::format("source_{}", i);
        if (!std::filesystem::exists(name)) break;
        files.push_back(runtime.resolve(name));
    }
    return files;
}

/// Deletes a damaged input of the job, so that the client downloads it again for the next one.
void forget(const std::filesystem::path& file) {
    std::error_code failure;
    if (!std::filesystem::remove(file, failure)) return;
    log_info("{} is deleted: the BOINC client downloads it again", file.filename().string());
}

/// How the process must end.
struct Outcome {
    End end = End::kDone;
    int status = 0;
    std::string why_later{};  ///< why the job cannot go on now; empty: it ends
};

Outcome stay(const Program& program, const Arguments& arguments, runtime::VolunteerRuntime& runtime,
             runtime::TemporaryExits& exits) {
    try {
        formats::RunFile run = read_run_file(runtime.resolve(arguments.run));
        add_sources(run, source_files(arguments, runtime));
        Options options = arguments.seat;
        std::optional<runtime::PlannedFault> fault;
        if (!arguments.fault.empty()) fault = runtime::parse_fault(arguments.fault);
        options.has_worked = [&exits, fault, commits = 0U]() mutable {
            exits.reset();
            if (fault && ++commits == fault->commits) fail_as_planned(*fault);
        };
        const MakeWorker make_worker = program.worker(run, runtime);
        if (!arguments.ticket.empty()) options.ticket = read_ticket(arguments.ticket);
        Seat seat{run, make_worker, options, runtime};
        const End end = seat.run();
        const std::string why_later = end == End::kDone
                                          ? write_receipt(seat, arguments.receipt, runtime)
                                      : end == End::kUnreachable ? seat.why()
                                                                 : "";
        return {.end = end, .status = 0, .why_later = why_later};
    } catch (const inputs::DamagedInput& error) {
        log_error("{}", error.what());
        if (runtime::is_in_boinc_slot()) forget(error.file());
        return {.end = End::kDone, .status = kFailure};
    } catch (const std::exception& error) {
        if (program.is_temporary(error)) {
            return {.end = End::kDone, .status = kFailure, .why_later = error.what()};
        }
        log_error("{}", error.what());
        return {.end = End::kDone, .status = kFailure};
    }
}

[[noreturn]] void come_back_later(const std::string& reason, runtime::VolunteerRuntime& runtime,
                                  runtime::TemporaryExits& exits) {
    log_warning("{}", reason);
    std::chrono::seconds delay{};
    if (runtime::is_in_boinc_slot()) {
        delay = exits.next_delay();
        log_info("trying again in {} minutes",
                 std::chrono::duration_cast<std::chrono::minutes>(delay).count());
    }
    runtime.come_back_in(delay, reason);
    std::abort();  // come_back_in does not return
}

[[noreturn]] void end_process(const Outcome& outcome, runtime::VolunteerRuntime& runtime,
                              runtime::TemporaryExits& exits) {
    if (!outcome.why_later.empty()) come_back_later(outcome.why_later, runtime, exits);
    switch (outcome.end) {
        case End::kDone:
            runtime.finish(outcome.status);
            break;
        case End::kQuit:
            log_info("quit requested: left the swarm, the receipt journal is kept");
            runtime.quit();
            break;
        case End::kUnreachable:
            break;  // has a reason to come back later
    }
    std::abort();  // none of the three returns
}

}  // namespace

formats::RunFile read_run_file(const std::filesystem::path& path) {
    const Buffer bytes = platform::read_file(path, formats::kMaxRunFileBytes);
    try {
        return formats::parse_run_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    } catch (const InputError& error) {
        throw inputs::DamagedInput{error.what(), path};
    }
}

void add_sources(formats::RunFile& run, const std::vector<std::filesystem::path>& files) {
    for (const auto& path : files) {
        const Buffer bytes = platform::read_file(path, formats::kMaxAddedSourceBytes);
        try {
            formats::add_source(run,
                                formats::parse_added_source(
                                    {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
        } catch (const InputError& error) {
            throw inputs::DamagedInput{error.what(), path};
        }
    }
}

void add_options(CLI::App& app, Arguments& arguments) {
    app.add_option("--run", arguments.run, "run file (default: run.json of the slot)");
    app.add_option("--source", arguments.sources,
                   "file of a source that was added to the run; repeat for each, in their order");
    app.add_option("--receipt", arguments.receipt, "output file for the signed receipt");
    app.add_option("--key", arguments.seat.key, "key file, created if absent");
    app.add_option("--journal", arguments.seat.journal, "journal of contributions");
    app.add_option("--state", arguments.seat.state, "file of the saved state");
    app.add_option("--listen", arguments.listen, "numeric HOST:PORT where peers can dial us");
    app.add_flag("--map-port,!--no-map-port", arguments.seat.maps_port,
                 "ask the router, by UPnP, PCP and NAT-PMP, to forward a port to us");
    app.add_option("--ticket", arguments.ticket,
                   "ticket file, if there is no BOINC client to get a ticket through");
    app.add_option("--threads", arguments.threads, "CPUs to use outside BOINC; 0: all");
    // The client appends what the volunteer has written in app_config.xml to the job's arguments.
    app.add_option("--hours", arguments.hours, "leave the swarm after so many hours; 0: never")
        ->check(CLI::Range(0.0, 100'000.0))
        ->take_last();
    app.add_option("--message-seconds", arguments.message_seconds,
                   "least time between two messages that tell the project of new work, so that it "
                   "credits it")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str()
        ->take_last();
    app.add_option("--fault", arguments.fault,
                   "for tests of clients and projects: exit, crash or hang after the first counted "
                   "contribution, crash@N after N of them")
        ->take_last();
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv,
                                      const Program& program) {
    app.set_version_flag("--version", program.name + ' ' + version());
    app.allow_extras(runtime::is_in_boinc_slot());
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kBadArguments;
    }
    return std::nullopt;
}

int take_seat(const Program& program, const CLI::App& app, Arguments arguments) {
    platform::raise_descriptor_limit();
    if (!arguments.listen.empty()) {
        arguments.seat.listen = net::parse_endpoint(arguments.listen);
        if (!arguments.seat.listen) {
            std::fprintf(stderr, "%s: --listen wants a numeric HOST:PORT, not '%s'\n",
                         program.name.c_str(), arguments.listen.c_str());
            return kBadArguments;
        }
    }
    // Rounded up: 0 would be no lease.
    arguments.seat.lease =
        std::chrono::seconds{static_cast<long>(std::ceil(arguments.hours * 3'600))};
    arguments.seat.message_interval = std::chrono::seconds{arguments.message_seconds};

    std::unique_ptr<runtime::VolunteerRuntime> runtime;
    try {
        runtime = runtime::is_in_boinc_slot() ? runtime::make_boinc_runtime()
                                              : runtime::make_standalone_runtime(arguments.threads);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
        return kFailure;
    }
    start_log(program.name);
    for (const std::string& word : app.remaining()) {
        log_warning("unknown argument {} is ignored", word);
    }
    runtime::TemporaryExits exits{kTemporaryExits};
    const Outcome outcome = stay(program, arguments, *runtime, exits);
    end_process(outcome, *runtime, exits);
}

}  // namespace dedloc::seat
