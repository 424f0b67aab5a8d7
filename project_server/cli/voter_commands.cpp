#include <fmt/chrono.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "project_server/cli/commands.hpp"
#include "project_server/cli/voters.hpp"

namespace dedloc::cli {
namespace {

std::string count_of_voters(std::size_t voters) {
    std::string text = fmt::format("{} {}", voters, voters == 1 ? "voter" : "voters");
    if (voters % 2 == 0) {
        text += fmt::format(": an even number bears the loss of no more than {} would", voters - 1);
    }
    return text;
}

void print_appointment(const AppointOptions& options) {
    const VotersChange change = appoint(options);
    const std::string where = options.file.empty()
                                  ? std::string{}
                                  : fmt::format(
                                        "; start it once with dedloc-backbone --voter {} "
                                        "--folder DIR --listen HOST:PORT",
                                        options.file.string());
    fmt::print("appointed {}, who votes once it holds the state{}; {}\n", change.key.hex(), where,
               count_of_voters(change.voters));
}

void print_dismissal(const AppointOptions& options) {
    const VotersChange change = dismiss(options.project, options.run, options.key);
    fmt::print("dismissed {}; {}\n", change.key.hex(), count_of_voters(change.voters));
}

const char* standing_of(const VoterLine& line) {
    if (line.votes) return line.is_wanted ? "votes" : "dismissed, votes until the next generation";
    return "appointed, votes once it holds the state";
}

void print_voters(const AppointOptions& options) {
    const VotersView view = voters_of(options.project, options.run);
    fmt::print("generation {}\n", view.generation);
    for (const VoterLine& line : view.lines) {
        std::string more = line.is_own_backbone ? ", the run's own backbone" : "";
        if (line.ticket_expires > formats::UtcSeconds{}) {
            more += fmt::format(", ticket until {:%Y-%m-%d}", line.ticket_expires);
        }
        fmt::print("{}  {}{}\n", line.key.hex(), standing_of(line), more);
    }
}

CLI::App* add_command(CLI::App& run, const char* name, const char* what,
                      const std::shared_ptr<AppointOptions>& options) {
    auto* const command = run.add_subcommand(name, what);
    command->add_option("--project", options->project, "The project's folder")->required();
    command->add_option("--name", options->run, "The run's name")->required();
    return command;
}

}  // namespace

void add_voter_commands(CLI::App& run) {
    const auto options = std::make_shared<AppointOptions>();  // shared by parser and callbacks
    auto* const appointing =
        add_command(run, "appoint", "Let one more backbone vote in the run", options);
    auto* const file = appointing->add_option(
        "--file", options->file, "Written for the new voter, with its secret key: hand it over");
    auto* const key =
        appointing->add_option("--key", options->key, "Of a backbone that is there, 64 hex digits");
    file->excludes(key);
    appointing
        ->add_option("--seed", options->seeds,
                     "HOST:PORT of a DHT seed as the new voter reaches it; else the run's")
        ->needs(file);
    appointing
        ->add_option("--backbone", options->backbone,
                     "HOST:PORT where the new voter reaches the run's own backbone; else found in "
                     "the DHT")
        ->needs(file);
    appointing->callback([options] { print_appointment(*options); });

    auto* const dismissing =
        add_command(run, "dismiss", "Let a voter vote no more, and take its ticket back", options);
    dismissing->add_option("key", options->key, "The voter's key, or its first digits")->required();
    dismissing->callback([options] { print_dismissal(*options); });

    add_command(run, "voters", "Say who votes in the run", options)->callback([options] {
        print_voters(*options);
    });
}

}  // namespace dedloc::cli
