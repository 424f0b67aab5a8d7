// A start in the background forks, and the child detaches, writes to its log and tells its parent
// by a pipe what it starts. An empty line means that the project is up; a text without a line end
// is the error. The parent shows the lines until the pipe closes. A stop signals the process that
// holds the project's lock and waits for both the lock and the process to go, since the lock goes
// first. All else parses options, calls project/ and prints.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/descriptor.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/database_options.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/cli/project_check.hpp"
#include "project_server/cli/project_status.hpp"
#include "project_server/database/join_policy.hpp"
#include "project_server/project/create.hpp"
#include "project_server/project/external_database.hpp"
#include "project_server/project/lock.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/running_project.hpp"
#include "project_server/project/upgrade.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kStopTimeout = 60s;

void create(project::ProjectOptions options, const project::DatabaseOptions& database,
            bool as_json) {
    if (!database.url.empty()) options.database = project::external_database(database);
    const auto settings = [&] {
        Progress progress{as_json};
        return project::create_project(options, progress.begins());
    }();
    if (as_json) {
        json::Value data;
        data.set("folder", fs::absolute(options.folder).string())
            .set("name", settings.name)
            .set("url", settings.url);
        return print(data, true);
    }
    fmt::print("{}: project \"{}\" at {}\n", options.folder.string(), settings.name, settings.url);
}

/// Runs the project in this process until a stop signal. Tells `begins` what it starts, and calls
/// `report` once all daemons are up.
template <class Report>
void serve(const fs::path& project, const project::Begins& begins, const Report& report) {
    const platform::StopSignals signals;
    project::RunningProject running{project, signals};
    if (!running.start(begins)) return;
    report();
    running.serve();
    log_info("stopping");
}

void tell(int pipe, const std::string& text) {
    [[maybe_unused]] const auto told =
        platform::write_all(pipe, std::as_bytes(std::span{text.data(), text.size()}));
}

/// Runs in the background process. Output goes to its log; the pipe gets a line for what it starts,
/// and in the end an empty one when the project is up, or the error message without a line end.
[[noreturn]] void serve_in_background(const fs::path& project, platform::Descriptor pipe) {
    setsid();
    const auto log_file = (project / "log/supervisor.log").string();
    const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    int status = 0;
    try {
        const auto begins = [&](const std::string& what) { tell(pipe.id(), what + '\n'); };
        serve(project, begins, [&] {
            tell(pipe.id(), "\n");
            pipe.close();
        });
    } catch (const std::exception& error) {
        log_error("{}", error.what());
        tell(pipe.id(), error.what());
        status = 1;
    }
    std::_Exit(status);
}

/// Shows what the background process begins. Returns what it says at last.
std::string read_until_up(int pipe, Progress& progress) {
    std::string told;
    std::array<char, 1024> piece{};
    for (;;) {
        const ssize_t count = read(pipe, piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return told;
        told.append(piece.data(), static_cast<std::size_t>(count));
        for (auto end = told.find('\n'); end != std::string::npos && end > 0;
             end = told.find('\n')) {
            progress.say(told.substr(0, end));
            told.erase(0, end + 1);
        }
    }
}

void start_in_background(const fs::path& project, bool as_json) {
    platform::Pipe pipe = platform::make_pipe();
    const pid_t background = fork();
    if (background < 0) throw IoError("cannot start a process");
    if (background == 0) {
        pipe.reader.close();
        serve_in_background(project, std::move(pipe.writer));
    }
    pipe.writer.close();
    Progress progress{as_json};
    const std::string told = read_until_up(pipe.reader.id(), progress);
    if (told == "\n") return;
    waitpid(background, nullptr, 0);
    throw IoError(told.empty() ? "the project was stopped while it started" : told);
}

void start(const fs::path& folder, bool stays_in_foreground, bool as_json) {
    platform::raise_descriptor_limit();  // nginx inherits it
    const auto project = project::own_project(folder);
    const auto url = server::read_settings(project).url;
    const auto report = [&] {
        json::Value data;
        if (as_json) print(data.set("is_running", true).set("url", url), true);
        if (!as_json) fmt::print("running at {}\n", url);
        std::fflush(stdout);
    };
    if (stays_in_foreground) {
        serve(
            project, [](const std::string&) {}, report);
        return;
    }
    if (project::supervisor_of(project)) {
        throw InputError(fmt::format("the project {} is running already", project.string()));
    }
    start_in_background(project, as_json);
    report();
}

void print_stopped(bool was_running, bool as_json) {
    json::Value data;
    if (as_json) return print(data.set("was_running", was_running), true);
    fmt::print("{}\n", was_running ? "stopped" : "not running");
}

/// Tells when a process that is not our child has ended, also if its id is used again. Reports it
/// as ended where the kernel has no pidfd_open (Linux before 5.3).
class WatchedProcess {
  public:
    explicit WatchedProcess(pid_t id) : file_(static_cast<int>(syscall(SYS_pidfd_open, id, 0))) {}

    bool has_ended() const {
        pollfd end{.fd = file_.id(), .events = POLLIN, .revents = 0};
        return !file_ || poll(&end, 1, 0) > 0;
    }

  private:
    const platform::Descriptor file_;
};

void stop(const fs::path& folder, bool as_json) {
    const auto project = project::own_project(folder);
    const auto supervisor = project::supervisor_of(project);
    if (!supervisor) return print_stopped(false, as_json);
    const WatchedProcess process{*supervisor};
    kill(*supervisor, SIGTERM);
    const platform::StopSignals signals;
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    // It releases its lock shortly before it ends.
    while (project::supervisor_of(project) || !process.has_ended()) {
        if (std::chrono::steady_clock::now() > deadline) {
            throw IoError(fmt::format("process {} did not stop in time", *supervisor));
        }
        if (signals.wait(50ms)) throw IoError("interrupted while the project was stopping");
    }
    print_stopped(true, as_json);
}

void upgrade(const fs::path& folder, bool as_json) {
    const auto changes = project::upgrade_project(folder);
    if (as_json) {
        json::Value::List list;
        for (const auto& change : changes) list.emplace_back(change);
        json::Value data;
        return print(data.set("changes", std::move(list)), true);
    }
    for (const auto& change : changes) fmt::print("{}\n", change);
    if (changes.empty()) fmt::print("{} is up to date already\n", folder.string());
}

/// Throws Error, and so exit status 1, if something is bad.
void check(const fs::path& folder, bool is_quick, bool as_json) {
    const auto findings = [&] {
        Progress progress{as_json};
        return check_project(folder, is_quick,
                             [&](const std::string& name) { progress.say("checking " + name); });
    }();
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
void add_house_options(CLI::App& command, project::ProjectOptions& options) {
    auto& settings = options.settings;
    command
        .add_option("--keep-days", settings.keep_days,
                    "Days until files and rows of closed jobs, messages and tickets are deleted")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    command
        .add_option_function<std::string>(
            "--join",
            [&options](const std::string& name) { options.join = server::join_policy_named(name); },
            "open: anyone makes an account; invitation: it needs a code (dedloc invite)")
        ->default_str("open");
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
void add_address_options(CLI::App& command, project::ProjectOptions& options) {
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
    command
        .add_option("--max-links", settings.max_links,
                    "Peers that may be linked to a run's backbone at once; each needs two open "
                    "files")
        ->check(CLI::Range(std::size_t{1}, platform::kMaxLinks))
        ->capture_default_str();
    command
        .add_option("--seats-per-account", settings.seats_per_account,
                    "Jobs of one account that take part at a time; 0: any number")
        ->check(CLI::Range(std::uint64_t{0}, server::kMaxSeats))
        ->capture_default_str();
    command
        .add_option("--seats-per-network", settings.seats_per_network,
                    "The same for a network: an IPv4 /24 or an IPv6 /48")
        ->check(CLI::Range(std::uint64_t{0}, server::kMaxSeats))
        ->capture_default_str();
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

/// Commands that have no options but the folder, or hardly any.
void add_state_commands(CLI::App& project) {
    struct Chosen {
        fs::path folder;
        bool stays = false;
        bool prints_json = false;
    };
    const auto chosen = std::make_shared<Chosen>();  // shared by parser and callbacks
    const auto add = [&](const char* name, const char* what, void (*work)(const Chosen&)) {
        auto* const command = project.add_subcommand(name, what);
        command->add_option("DIR", chosen->folder, "The project's folder")->required();
        command->add_flag("--json", chosen->prints_json, "Print JSON");
        command->callback([chosen, work] { work(*chosen); });
        return command;
    };
    add("start", "Start all daemons", [](const Chosen& its) {
        start(its.folder, its.stays, its.prints_json);
    })->add_flag("--foreground", chosen->stays, "Stay in the foreground; Ctrl-C stops all daemons");
    add("stop", "Stop all daemons", [](const Chosen& its) { stop(its.folder, its.prints_json); });
    add("upgrade", "Bring a stopped project up to date with this version; start does the same",
        [](const Chosen& its) { upgrade(its.folder, its.prints_json); });
    add("status", "Print daemons, runs, jobs and disk use",
        [](const Chosen& its) { print(project_status(its.folder), its.prints_json); });
}

}  // namespace

void add_project_commands(CLI::App& dedloc) {
    auto* const project =
        dedloc.add_subcommand("project", "Create, start, stop, back up and restore a project");
    project->require_subcommand(1);

    const auto options =
        std::make_shared<project::ProjectOptions>();  // shared by parser and callback
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
    const auto database = add_database_options(*create_command);
    const auto as_json = std::make_shared<bool>(false);
    create_command->add_flag("--json", *as_json, "Print JSON");
    create_command->callback(
        [options, database, as_json] { create(*options, *database, *as_json); });

    add_state_commands(*project);
    add_check_command(*project);
    add_accounts_command(*project);
    add_backup_commands(*project);
}

}  // namespace dedloc::cli
