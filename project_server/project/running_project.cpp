// The constructor takes the lock and finds ports in use before anything starts. start() launches
// the daemons in the order of their dependencies; await() drives the supervisor until the daemon
// answers, and fails with the reason in its log as soon as it has ended. The tables are brought up
// to date before the first program that reads them, the files before nginx. serve() then ticks: it
// restarts, rotates logs, looks for new runs and renewed certificates. The supervisor is a member
// after the lock, so all daemons have ended before the lock is free.
#include "project_server/project/running_project.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/project/external_database.hpp"
#include "project_server/project/log_rotation.hpp"
#include "project_server/project/nginx_conf.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/run_backbones.hpp"
#include "project_server/project/upgrade.hpp"

namespace dedloc::project {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 200ms;
constexpr auto kLookAtRuns = 2s;
constexpr auto kLookAtLogs = 30s;
constexpr auto kStartTimeout = 60s;
constexpr double kMaxCreditSeconds = 600;
constexpr std::uint64_t kNeededBytes = std::uint64_t{50} << 20;

/// Seconds between two passes of dedloc-credit: volunteers see new credit at their client's next
/// contact, so more often is of no use.
double credit_seconds(const server::ProjectConfig& config) {
    return config.next_rpc_seconds > 0 ? std::clamp(config.next_rpc_seconds, 1.0, kMaxCreditSeconds)
                                       : kMaxCreditSeconds;
}

}  // namespace

RunningProject::RunningProject(std::filesystem::path project, const platform::StopSignals& signals)
    : project_(std::move(project)),
      signals_(signals),
      settings_(server::read_settings(project_)),
      config_(server::load_project_config(project_)),
      lock_(project_),
      supervisor_({.logs = project_ / "log", .pids = project_ / "pids"}) {
    require_disk_space(project_, kNeededBytes);
    for (const auto* const addresses : {&settings_.listen, &settings_.redirect}) {
        for (const auto& address : *addresses) {
            platform::require_free_port(address.host, address.port);
        }
    }
    platform::require_free_port("127.0.0.1", settings_.server_port);
    platform::require_free_port("127.0.0.1", settings_.gateway_port);
    if (has_own_mariadb(project_)) {
        platform::require_free_port("127.0.0.1", settings_.database_port);
    }
}

platform::Command RunningProject::program(const std::string& name) const {
    return program_of(name, project_);
}

void RunningProject::launch(const std::string& name, platform::Command command,
                            std::filesystem::path directory) {
    supervisor_.start(
        {.name = name, .command = std::move(command), .directory = std::move(directory)});
    log_info("{} started", name);
}

template <class Condition>
bool RunningProject::await(const std::string& name, const Condition& is_ready) {
    const auto deadline = Supervisor::Clock::now() + kStartTimeout;
    while (!is_ready()) {
        supervisor_.advance(Supervisor::Clock::now());
        if (!supervisor_.is_running(name) || Supervisor::Clock::now() > deadline) {
            throw IoError(fmt::format("{} does not start: {}", name, supervisor_.failure_of(name)));
        }
        if (signals_.wait(50ms)) return false;
    }
    return true;
}

bool RunningProject::connect_database() {
    if (!has_own_mariadb(project_)) {
        database_ = std::make_unique<server::Database>(config_.database);
        return true;
    }
    const auto place = mariadb_place(project_, settings_);
    supervisor_.start({.name = "mariadbd",
                       .command = server::mariadb_command(place),
                       .death_signal = server::kMariadbDeathSignal});
    log_info("mariadbd started");
    return await("mariadbd", [&] {
        try {
            database_ = std::make_unique<server::Database>(config_.database);
            return true;
        } catch (const server::DatabaseError&) {
            return false;
        }
    });
}

bool RunningProject::start(const Begins& begins) {
    begins("starting the database");
    if (!connect_database()) return false;
    begins("bringing the tables up to date");
    for (const auto& change : server::upgrade_schema(*database_)) log_info("{}", change);

    auto server = program("dedloc-server");
    server.insert(server.end(), {"--listen", fmt::format("127.0.0.1:{}", settings_.server_port)});
    begins("starting dedloc-server");
    launch("dedloc-server", server);
    const auto accepts = [](const std::string& host, std::uint16_t port) {
        return [=] { return platform::is_accepting(host, port); };
    };
    if (!await("dedloc-server", accepts("127.0.0.1", settings_.server_port))) return false;

    auto gateway = program("dedloc-gateway");
    gateway.insert(gateway.end(),
                   {"--listen", fmt::format("127.0.0.1:{}", settings_.gateway_port)});
    begins("starting dedloc-gateway");
    launch("dedloc-gateway", gateway);
    if (!await("dedloc-gateway", accepts("127.0.0.1", settings_.gateway_port))) return false;

    for (const auto& change : upgrade_files(project_, settings_)) log_info("{}", change);
    certificate_written_ = time_of_certificate();
    begins("starting nginx");
    launch("nginx", nginx_command(), nginx_folder(project_));
    const auto& address = settings_.listen.front();
    if (!await("nginx", accepts(address.host, address.port))) return false;

    launch("dedloc-work", program("dedloc-work"));
    launch("dedloc-validator", program("dedloc-validator"));
    auto credit = program("dedloc-credit");
    credit.insert(credit.end(), {"--every", fmt::format("{}", credit_seconds(config_))});
    launch("dedloc-credit", credit);
    auto purge = program("dedloc-purge");
    purge.insert(purge.end(), {"--days", fmt::format("{}", settings_.keep_days)});
    launch("dedloc-purge", purge);
    const auto evaluate = program("dedloc-evaluate");
    if (std::filesystem::exists(evaluate.front())) {
        launch("dedloc-evaluate", evaluate);
    } else {
        log_warning("dedloc-evaluate is not installed: runs are not measured on held-out data");
    }
    start_backbones(supervisor_, *database_, project_);
    return true;
}

/// nginx reads a renewed certificate when it gets SIGHUP; a pair that does not fit it refuses, and
/// goes on with the old one.
void RunningProject::follow_certificate() {
    if (settings_.certificate.empty()) return;
    const auto written = time_of_certificate();
    if (written == certificate_written_) return;
    certificate_written_ = written;
    supervisor_.signal("nginx", SIGHUP);
    log_info("the certificate has changed: nginx reads it again");
}

RunningProject::CertificateTime RunningProject::time_of_certificate() const {
    std::error_code absent;  // between two files of a renewal
    return {std::filesystem::last_write_time(settings_.certificate, absent),
            std::filesystem::last_write_time(settings_.certificate_key, absent)};
}

void RunningProject::rotate_logs() {
    std::string failure;
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(project_ / "log", unreadable)) {
        const auto& log = entry.path();
        if (log.extension() != ".log") continue;
        try {
            if (log.filename() == "access.log") {
                rotate_by_renaming(log, {}, [this] { supervisor_.signal("nginx", SIGUSR1); });
            } else {
                rotate_in_place(log, {});
            }
        } catch (const Error& error) {
            failure = error.what();
        }
    }
    if (!failure.empty() && failure != rotation_failure_) log_warning("{}", failure);
    rotation_failure_ = failure;
}

void RunningProject::serve() {
    auto next_look = Supervisor::Clock::now() + kLookAtRuns;
    auto next_rotation = Supervisor::Clock::now();
    while (!signals_.wait(kTick)) {
        const auto now = Supervisor::Clock::now();
        supervisor_.advance(now);
        if (now >= next_rotation) {
            next_rotation = now + kLookAtLogs;
            rotate_logs();
        }
        if (now < next_look) continue;
        next_look = now + kLookAtRuns;
        start_backbones(supervisor_, *database_, project_);
        follow_certificate();
    }
}

}  // namespace dedloc::project
