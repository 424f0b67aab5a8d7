#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/project.hpp"
#include "project_server/cli/project_check.hpp"
#include "project_server/cli/project_lock.hpp"
#include "project_server/cli/project_status.hpp"
#include "project_server/cli/running_project.hpp"
#include "project_server/cli/upgrade.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kStopTimeout = 60s;

void create(const ProjectOptions& options) {
    const auto settings = create_project(options);
    fmt::print("{}: project \"{}\" at {}\n", options.folder.string(), settings.name, settings.url);
}

/// Runs the project in this process until a stop signal. Calls `report` once all daemons are up.
template <class Report>
void serve(const fs::path& project, const Report& report) {
    const platform::StopSignals signals;
    RunningProject running{project, signals};
    if (!running.start()) return;
    report();
    running.serve();
    log_info("stopping");
}

/// Runs in the background process. Output goes to its log; the pipe gets a line end when the
/// project is up, or the error message.
[[noreturn]] void serve_in_background(const fs::path& project, int pipe) {
    setsid();
    const auto log_file = (project / "log/supervisor.log").string();
    const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    int status = 0;
    try {
        serve(project, [&] {
            [[maybe_unused]] const auto told = write(pipe, "\n", 1);
            close(pipe);
        });
    } catch (const std::exception& error) {
        log_error("{}", error.what());
        const std::string sentence = error.what();
        [[maybe_unused]] const auto told = write(pipe, sentence.data(), sentence.size());
        status = 1;
    }
    std::_Exit(status);
}

void start_in_background(const fs::path& project) {
    std::array<int, 2> pipe_ends{};
    if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw IoError("cannot make a pipe");
    const pid_t background = fork();
    if (background < 0) throw IoError("cannot start a process");
    if (background == 0) {
        close(pipe_ends[0]);
        serve_in_background(project, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    std::string told;
    std::array<char, 1024> piece{};
    for (;;) {
        const ssize_t count = read(pipe_ends[0], piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        told.append(piece.data(), static_cast<std::size_t>(count));
    }
    if (told == "\n") return;
    waitpid(background, nullptr, 0);
    throw IoError(told.empty() ? "the project was stopped while it started" : told);
}

void start(const fs::path& folder, bool stays_in_foreground) {
    platform::raise_descriptor_limit();  // nginx inherits it
    const auto project = own_project(folder);
    const auto url = server::read_settings(project).url;
    const auto report = [&] {
        fmt::print("running at {}\n", url);
        std::fflush(stdout);
    };
    if (stays_in_foreground) {
        serve(project, report);
        return;
    }
    if (supervisor_of(project)) {
        throw InputError(fmt::format("the project {} is running already", project.string()));
    }
    start_in_background(project);
    report();
}

void stop(const fs::path& folder) {
    const auto project = own_project(folder);
    const auto supervisor = supervisor_of(project);
    if (!supervisor) {
        fmt::print("not running\n");
        return;
    }
    kill(*supervisor, SIGTERM);
    const platform::StopSignals signals;
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    while (supervisor_of(project)) {
        if (std::chrono::steady_clock::now() > deadline) {
            throw IoError(fmt::format("process {} did not stop in time", *supervisor));
        }
        if (signals.wait(50ms)) throw IoError("interrupted while the project was stopping");
    }
    fmt::print("stopped\n");
}

void upgrade(const fs::path& folder) {
    const auto changes = upgrade_project(folder);
    for (const auto& change : changes) fmt::print("{}\n", change);
    if (changes.empty()) fmt::print("{} is up to date already\n", folder.string());
}

/// Throws Error, and so exit status 1, if something is bad.
void check(const fs::path& folder, bool is_quick, bool as_json) {
    const bool shows_progress = !as_json && isatty(STDERR_FILENO) != 0;
    const auto findings = check_project(folder, is_quick, [&](const std::string& name) {
        if (shows_progress) fmt::print(stderr, "\033[2Kchecking {} …\r", name);
    });
    if (shows_progress) fmt::print(stderr, "\033[2K");
    if (as_json) {
        print(check_data(findings), true);
    } else {
        fmt::print("{}", check_text(findings));
    }
    std::fflush(stdout);
    const auto bad = findings.count(check::Level::kBad);
    if (bad > 0) throw Error(fmt::format("{} things are bad in {}", bad, folder.string()));
}

/// Options that take addresses.
void add_addresses(CLI::App& command, const std::string& name,
                   std::vector<platform::ListenAddress>& addresses, const std::string& help) {
    command.add_option_function<std::vector<std::string>>(
        name,
        [name, &addresses](const std::vector<std::string>& texts) {
            for (const auto& text : texts) {
                addresses.push_back(platform::parse_listen_address(text, name));
            }
        },
        help);
}

/// What a new project keeps and sends.
void add_house_options(CLI::App& command, ProjectOptions& options) {
    auto& settings = options.settings;
    command
        .add_option("--keep-days", settings.keep_days,
                    "Days until files and rows of closed jobs, messages and tickets are deleted")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    command.add_option("--mail-from", settings.mail_from,
                       "Sender of e-mail that confirms addresses and resets passwords. Default: "
                       "the project sends no e-mail");
    command.add_option("--mail-relay", settings.mail_relay,
                       "smtp://HOST:PORT or smtps://HOST:PORT that takes the e-mail. Default: the "
                       "program sendmail of this machine");
    command.add_option("--mail-credentials", settings.mail_credentials,
                       "File with NAME:PASSWORD for the relay");
}

/// The public address of a new project.
void add_address_options(CLI::App& command, ProjectOptions& options) {
    auto& settings = options.settings;
    command.add_option("--url", settings.url,
                       "URL that volunteers attach to, http(s)://NAME/; it can never change. "
                       "Default: that of the first --listen");
    add_addresses(command, "--listen", settings.listen,
                  "HOST:PORT that nginx serves the URL on, [::]:443 for IPv6; repeat for several. "
                  "Default: 127.0.0.1 and a free port");
    command.add_option("--certificate", settings.certificate,
                       "TLS certificate with its chain (PEM)");
    command.add_option("--certificate-key", settings.certificate_key, "Its private key (PEM)");
    add_addresses(command, "--redirect", settings.redirect,
                  "HOST:PORT where plain HTTP is redirected to the https URL; repeat for several");
    command.add_option("--acme-webroot", settings.acme_webroot,
                       "Folder where an ACME client (certbot --webroot) puts its challenges; "
                       "--redirect serves it");
    command.add_option("--proxy", settings.proxies,
                       "Address or network of a proxy in front, whose X-Forwarded-For is believed; "
                       "repeat for several");
    command.add_option("--peer-listen", settings.peer_listen,
                       "Address that the runs' backbones listen on. Default: all, if the URL names "
                       "another host than 127.0.0.1");
    command.add_option("--peer-address", settings.peer_address,
                       "Address where members dial the backbones, if it is not that of the URL's "
                       "host");
    command.add_option("--peer-port", settings.peer_port,
                       "Each run takes two ports from here on, one UDP and one TCP, to open in a "
                       "firewall. Default: any free ones");
    command.add_option("--user", options.user,
                       "Root: create the project for this account, which its daemons run as");
}

void add_check_command(CLI::App& project) {
    struct Chosen {
        fs::path folder;
        bool is_quick = false;
        bool prints_json = false;
    };
    const auto chosen = std::make_shared<Chosen>();  // shared by parser and callback
    auto* const command = project.add_subcommand(
        "check", "Look for damage, and for files and rows that do not agree; changes nothing");
    command->add_option("DIR", chosen->folder, "The project's folder")->required();
    command->add_flag("--quick", chosen->is_quick, "Leave out the digests of large files");
    command->add_flag("--json", chosen->prints_json, "Print JSON");
    command->callback([chosen] { check(chosen->folder, chosen->is_quick, chosen->prints_json); });
}

}  // namespace

void add_project_commands(CLI::App& dedloc) {
    auto* const project =
        dedloc.add_subcommand("project", "Create, start, stop, back up and restore a project");
    project->require_subcommand(1);

    const auto options = std::make_shared<ProjectOptions>();  // shared by parser and callback
    auto* const create_command = project->add_subcommand("create", "Create a project's folder");
    create_command->add_option("DIR", options->folder, "Folder to create")->required();
    create_command->add_option("--name", options->settings.name, "Name that volunteers see")
        ->required();
    add_address_options(*create_command, *options);
    add_house_options(*create_command, *options);
    create_command
        ->add_option("--contact-seconds", options->contact_seconds,
                     "Volunteers' clients contact the project at least this often; they report "
                     "finished tasks and ask for tasks without waiting for it")
        ->check(CLI::Range(5, 86'400))
        ->capture_default_str();
    create_command->callback([options] { create(*options); });

    const auto folder = std::make_shared<fs::path>();
    const auto stays = std::make_shared<bool>(false);
    auto* const start_command = project->add_subcommand("start", "Start all daemons");
    start_command->add_option("DIR", *folder, "The project's folder")->required();
    start_command->add_flag("--foreground", *stays,
                            "Stay in the foreground; Ctrl-C stops all daemons");
    start_command->callback([folder, stays] { start(*folder, *stays); });

    auto* const stop_command = project->add_subcommand("stop", "Stop all daemons");
    stop_command->add_option("DIR", *folder, "The project's folder")->required();
    stop_command->callback([folder] { stop(*folder); });

    add_check_command(*project);
    auto* const upgrade_command = project->add_subcommand(
        "upgrade", "Bring a stopped project up to date with this version; start does the same");
    upgrade_command->add_option("DIR", *folder, "The project's folder")->required();
    upgrade_command->callback([folder] { upgrade(*folder); });

    const auto prints_json = std::make_shared<bool>(false);
    auto* const status_command =
        project->add_subcommand("status", "Print daemons, runs, jobs and disk use");
    status_command->add_option("DIR", *folder, "The project's folder")->required();
    status_command->add_flag("--json", *prints_json, "Print JSON");
    status_command->callback(
        [folder, prints_json] { print(project_status(*folder), *prints_json); });

    add_backup_commands(*project);
}

}  // namespace dedloc::cli
