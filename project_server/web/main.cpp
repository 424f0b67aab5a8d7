// dedloc-server: serves BOINC clients and the web page, and runs the transitioner on a thread.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "peer/base/log.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/mariadb.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/settings.hpp"
#include "project_server/transitioner/transitioner.hpp"
#include "project_server/views/stats_export.hpp"
#include "project_server/web/http_server.hpp"

namespace dedloc::server {
namespace {

constexpr auto kPassInterval = std::chrono::milliseconds{500};
constexpr auto kStatisticsInterval = std::chrono::minutes{1};

/// Calls `pass` on a thread of its own, again and again until destruction. A pass that throws is
/// logged; the next one follows after the pause.
class Repeating {
  public:
    Repeating(std::string name, std::chrono::milliseconds pause, std::function<void()> pass)
        : name_(std::move(name)),
          pause_(pause),
          pass_(std::move(pass)),
          thread_([this] { run(); }) {}
    ~Repeating() {
        {
            const std::lock_guard lock{mutex_};
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Repeating(const Repeating&) = delete;
    Repeating& operator=(const Repeating&) = delete;

  private:
    void run() {
        do {
            try {
                pass_();
            } catch (const std::exception& error) {
                log_error("{}: {}", name_, error.what());
            }
        } while (!wait());
    }
    bool wait() {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, pause_, [this] { return stop_; });
    }

    const std::string name_;
    const std::chrono::milliseconds pause_;
    const std::function<void()> pass_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
    std::thread thread_;
};

/// A pass of the transitioner; it connects again after a failure.
std::function<void()> transitioner_pass(const ProjectConfig& config) {
    const auto transitioner = std::make_shared<std::unique_ptr<Transitioner>>();
    return [&config, transitioner] {
        try {
            if (!*transitioner) *transitioner = std::make_unique<Transitioner>(config);
            (*transitioner)->pass(static_cast<std::int64_t>(unix_now()));
        } catch (...) {
            transitioner->reset();
            throw;
        }
    };
}

/// Renews recent credit, badges and the statistics files if the last files are an hour old.
std::function<void()> statistics_pass(const ProjectConfig& config) {
    return [&config] {
        const auto folder = config.directory / "html/stats";
        if (!is_export_due(folder)) return;
        Database database{config.database};
        renew_statistics(database, folder, unix_now());
    };
}

/// A project of an official server has no settings, and sends no e-mail.
MailSettings mail_settings(const std::string& project) {
    if (!has_settings(project)) return {};
    const Settings settings = read_settings(project);
    return {.from = settings.mail_from,
            .sender_name = settings.name,
            .relay = settings.mail_relay,
            .credentials = settings.mail_credentials};
}

/// The configuration, in which the project's own database is reached through its socket: there a
/// statement costs both sides less than over TCP.
ProjectConfig config_of(const std::string& project) {
    ProjectConfig config = load_project_config(project);
    if (!has_settings(project)) return config;
    const MariadbPlace own{.directory = config.directory / "db",
                           .port = read_settings(project).database_port};
    DatabaseSettings& database = config.database;
    if (database.host == "127.0.0.1" && database.port == own.port &&
        std::filesystem::is_socket(own.socket())) {
        database.socket = own.socket().string();
    }
    return config;
}

void serve(const std::string& project, const ListenAddress& address) {
    const platform::StopSignals signals;
    platform::ignore_broken_pipes();
    const ProjectConfig config = config_of(project);
    {
        // Fail now, with one sentence, if the database cannot be reached.
        const Database probe{config.database};
        const Transitioner ready{config};
    }
    HttpServer server{config, address.host, address.port, mail_settings(project)};
    std::thread serving{[&] { server.run(); }};
    {
        const Repeating transitioner{"transitioner", kPassInterval, transitioner_pass(config)};
        const Repeating statistics{"statistics", kStatisticsInterval, statistics_pass(config)};
        log_info("serving {} on {}:{}", config.master_url, address.host, server.port());
        log_info("signal {}: stopping", signals.wait());
    }
    server.stop();
    serving.join();
}

}  // namespace
}  // namespace dedloc::server

int main(int count, char** arguments) {
    return dedloc::server::run_http_daemon(
        count, arguments, "dedloc-server",
        "Serves a DeDLOC@home project to BOINC clients and browsers.",
        [](const dedloc::server::Settings& settings) {
            return dedloc::server::ListenAddress{.host = "127.0.0.1", .port = settings.server_port};
        },
        dedloc::server::serve);
}
