// Signs a ticket that is valid from now on. The signing key must exist and be one that the run file
// names for tickets: the project's key or the ticket key. The member's key is created if it does
// not exist.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "peer/base/error.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/tool/commands.hpp"
#include "peer/tool/files.hpp"

namespace dedloc::tool {
namespace {

constexpr std::int64_t kDay = 86'400;

struct TicketArguments {
    std::filesystem::path run;
    std::filesystem::path project_key;
    std::filesystem::path key;
    std::filesystem::path ticket;
    formats::Job job;
    std::int64_t seconds = kDay;
};

void issue(const TicketArguments& arguments) {
    const formats::RunFile run = read_run(arguments.run);
    if (!std::filesystem::exists(arguments.project_key)) {
        throw InputError("there is no key file " + arguments.project_key.string());
    }
    const KeyPair signer = platform::read_key(arguments.project_key);
    const PeerKey its_key = signer.public_key();
    if (its_key != run.project_key && its_key != run.ticket_key) {
        throw InputError(arguments.project_key.string() +
                         " is not the project's key that the run file names, nor its ticket key");
    }
    const auto now = platform::utc_now();
    const formats::Ticket ticket{.run = formats::run_id(run),
                                 .peer = platform::read_or_create_key(arguments.key).public_key(),
                                 .job = arguments.job,
                                 .issued = now,
                                 .expires = now + std::chrono::seconds{arguments.seconds}};
    write_ticket(arguments.ticket, formats::sign(ticket, signer));
}

}  // namespace

void add_ticket_command(CLI::App& app) {
    const auto arguments = std::make_shared<TicketArguments>();
    CLI::App* command = app.add_subcommand(
        "ticket", "Sign a ticket for a member, as a project's gateway does for volunteers");
    command->add_option("RUNFILE", arguments->run, "Run file")->required();
    command
        ->add_option("--project-key", arguments->project_key,
                     "Key file of the run's project, or its ticket key")
        ->required();
    command
        ->add_option("--key", arguments->key,
                     "Key file of the member, created if it does not exist")
        ->required();
    command->add_option("--ticket", arguments->ticket, "Ticket file to write")->required();
    const CLI::Range row{std::int64_t{0}, std::int64_t{1} << 62};
    command->add_option("--user", arguments->job.user, "Id of the user")->check(row);
    command->add_option("--host", arguments->job.host, "Id of the host")->check(row);
    command->add_option("--result", arguments->job.result, "Id of the result")->check(row);
    command->add_option("--seconds", arguments->seconds, "Validity from now on")
        ->check(CLI::Range(std::int64_t{1}, 3'650 * kDay))
        ->capture_default_str();
    command->callback([arguments] { issue(*arguments); });
}

}  // namespace dedloc::tool
