// dedloc-server: serves BOINC clients and the web page, and runs the transitioner on a thread.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "peer/base/log.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "project_server/transitioner/transitioner.hpp"
#include "project_server/web/http_server.hpp"

namespace dedloc::server {
namespace {

constexpr auto kPassInterval = std::chrono::milliseconds{500};

/// Runs passes of the transitioner on a thread of its own until destruction.
class TransitionerThread {
  public:
    explicit TransitionerThread(const ProjectConfig& config)
        : thread_([this, &config] { run(config); }) {}
    ~TransitionerThread() {
        {
            const std::lock_guard lock{mutex_};
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    TransitionerThread(const TransitionerThread&) = delete;
    TransitionerThread& operator=(const TransitionerThread&) = delete;

  private:
    void run(const ProjectConfig& config) {
        std::unique_ptr<Transitioner> transitioner;
        do {
            try {
                if (!transitioner) transitioner = std::make_unique<Transitioner>(config);
                transitioner->pass(static_cast<std::int64_t>(unix_now()));
            } catch (const std::exception& error) {
                log_error("transitioner: {}", error.what());
                transitioner.reset();
            }
        } while (!wait());
    }
    bool wait() {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, kPassInterval, [this] { return stop_; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
    std::thread thread_;
};

void serve(const std::string& project, const ListenAddress& address) {
    const platform::StopSignals signals;
    platform::ignore_broken_pipes();
    const ProjectConfig config = load_project_config(project);
    {
        // Fail now, with one sentence, if the database cannot be reached.
        const Database probe{config.database};
        const Transitioner ready{config};
    }
    HttpServer server{config, address.host, address.port};
    std::thread serving{[&] { server.run(); }};
    {
        const TransitionerThread transitioner{config};
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
        "Serves a DeDLOC@home project to BOINC clients and browsers.", dedloc::server::serve);
}
