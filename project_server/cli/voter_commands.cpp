// Appointing, dismissing and listing share one struct of options, which the parser fills; the
// parser also refuses options that exclude each other or need --file. The functions of runs/voters
// do the work; here their result is printed as JSON or as a sentence. The count of voters after a
// change carries a hint when it is even, because a majority then needs one voter more without
// tolerating more failures.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "peer/base/utc_text.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/runs/voters.hpp"

namespace dedloc::cli {
namespace {

struct VoterChoice : runs::AppointOptions {
    bool prints_json = false;
};

/// A change of the voters as a JSON object.
void print_json(const runs::VotersChange& change) {
    json::Value data;
    data.set("key", change.key.hex()).set("voters", change.voters);
    print(data, true);
}

std::string count_of_voters(std::size_t voters) {
    std::string text = fmt::format("{} {}", voters, voters == 1 ? "voter" : "voters");
    if (voters % 2 == 0) {
        text +=
            fmt::format(": an even number tolerates no more failures than {} would", voters - 1);
    }
    return text;
}

void print_appointment(const VoterChoice& options) {
    const runs::VotersChange change = runs::appoint(options);
    if (options.prints_json) return print_json(change);
    const std::string where = options.file.empty()
                                  ? std::string{}
                                  : fmt::format(
                                        "; start it once with dedloc-backbone --voter {} "
                                        "--folder DIR --listen HOST:PORT",
                                        options.file.string());
    fmt::print("appointed {}, which votes once it holds the state{}; {}\n", change.key.hex(), where,
               count_of_voters(change.voters));
}

void print_dismissal(const VoterChoice& options) {
    const runs::VotersChange change = runs::dismiss(options.project, options.run, options.key);
    if (options.prints_json) return print_json(change);
    fmt::print("dismissed {}; {}\n", change.key.hex(), count_of_voters(change.voters));
}

const char* standing_of(const runs::VoterLine& line) {
    if (line.votes) return line.is_wanted ? "votes" : "dismissed, votes until the next generation";
    return "appointed, votes once it holds the state";
}

void print_voters_json(const runs::VotersView& view) {
    json::Value::List voters;
    for (const runs::VoterLine& line : view.lines) {
        json::Value voter;
        voter.set("key", line.key.hex())
            .set("votes", line.votes)
            .set("is_wanted", line.is_wanted)
            .set("is_own_backbone", line.is_own_backbone)
            .set("control", line.control)
            .set("ticket_expires_at", line.ticket_expires.time_since_epoch().count());
        voters.push_back(std::move(voter));
    }
    json::Value data;
    data.set("generation", view.generation).set("voters", std::move(voters));
    print(data, true);
}

void print_voters(const VoterChoice& options) {
    const runs::VotersView view = runs::voters_of(options.project, options.run);
    if (options.prints_json) return print_voters_json(view);
    fmt::print("generation {}\n", view.generation);
    for (const runs::VoterLine& line : view.lines) {
        std::string more = line.is_own_backbone ? ", the run's own backbone" : "";
        if (line.ticket_expires > formats::UtcSeconds{}) {
            more += ", ticket until " +
                    utc_text(line.ticket_expires.time_since_epoch().count(), "%Y-%m-%d");
        }
        if (!line.control.empty()) more += ", control plane at " + line.control;
        fmt::print("{}  {}{}\n", line.key.hex(), standing_of(line), more);
    }
}

CLI::App* add_command(CLI::App& run, const char* name, const char* what,
                      const std::shared_ptr<VoterChoice>& options) {
    auto* const command = run.add_subcommand(name, what);
    command->add_option("--project", options->project, "The project's folder")->required();
    command->add_option("--name", options->run, "The run's name")->required();
    command->add_flag("--json", options->prints_json, "Print JSON");
    return command;
}

}  // namespace

void add_voter_commands(CLI::App& run) {
    const auto options = std::make_shared<VoterChoice>();  // shared by parser and callbacks
    auto* const appointing =
        add_command(run, "appoint", "Appoint one more voter of the run", options);
    auto* const file = appointing->add_option(
        "--file", options->file, "File to write for the new voter; it contains its secret key");
    auto* const key =
        appointing->add_option("--key", options->key, "Key of an existing backbone, 64 hex digits");
    file->excludes(key);
    appointing
        ->add_option("--seed", options->seeds,
                     "HOST:PORT at which the new voter reaches a DHT seed; default: the run's")
        ->needs(file);
    appointing
        ->add_option("--backbone", options->backbone,
                     "HOST:PORT at which the new voter reaches the run's own backbone; default: "
                     "found in the DHT")
        ->needs(file);
    appointing
        ->add_option(
            "--control", options->control,
            "ssh://USER@HOST[:PORT]/FOLDER: the new voter's account, machine and --folder, which "
            "this user's ssh reaches without a question: then status, pause and bans work "
            "through it while the run's own backbone does not")
        ->needs(file);
    appointing->callback([options] { print_appointment(*options); });

    auto* const dismissing =
        add_command(run, "dismiss", "Remove a voter and revoke its ticket", options);
    dismissing->add_option("key", options->key, "The voter's key or its first digits")->required();
    dismissing->callback([options] { print_dismissal(*options); });

    add_command(run, "voters", "List the voters of the run", options)->callback([options] {
        print_voters(*options);
    });
}

}  // namespace dedloc::cli
