#include "project_server/project/supervisor.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::project {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstPause = 500ms;
constexpr auto kMaxPause = 30s;
/// After a run of this length the next pause is kFirstPause again.
constexpr auto kGoodRun = 60s;
constexpr auto kPoll = 20ms;

/// Direct children of this process. After the daemons have ended these are their orphans, because
/// this process is their subreaper.
std::vector<pid_t> children_of_this_process() {
    const auto self = std::to_string(getpid());
    std::ifstream file("/proc/" + self + "/task/" + self + "/children");
    std::vector<pid_t> children;
    for (pid_t child = 0; file >> child;) children.push_back(child);
    return children;
}

}  // namespace

Supervisor::Supervisor(Folders folders) : folders_(std::move(folders)), files_(folders_.pids) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Supervisor::~Supervisor() {
    stop_all();
}

Supervisor::Kept* Supervisor::find(const std::string& name) {
    const auto found =
        std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.daemon.name == name; });
    return found == kept_.end() ? nullptr : &*found;
}

bool Supervisor::knows(const std::string& name) const {
    return std::ranges::any_of(kept_, [&](const Kept& kept) { return kept.daemon.name == name; });
}

bool Supervisor::is_running(const std::string& name) const {
    return std::ranges::any_of(
        kept_, [&](const Kept& kept) { return kept.daemon.name == name && kept.child != 0; });
}

std::filesystem::path Supervisor::log_of(const std::string& name) const {
    return folders_.logs / (name + ".log");
}

std::string Supervisor::failure_of(const std::string& name) {
    const Kept* const kept = find(name);
    return platform::failure_in(log_of(name), kept == nullptr ? 0 : kept->log_begin);
}

void Supervisor::launch(Kept& kept, Clock::time_point now) {
    const auto log = log_of(kept.daemon.name);
    std::error_code absent;
    const auto size = std::filesystem::file_size(log, absent);
    kept.log_begin = absent ? 0 : size;
    kept.child = platform::spawn(kept.daemon.command, {.output = log,
                                                       .directory = kept.daemon.directory,
                                                       .death_signal = kept.daemon.death_signal});
    kept.started = now;
    files_.started(kept.daemon.name, kept.child, kept.starts++, kept.log_begin);
}

void Supervisor::start(Daemon daemon) {
    DEDLOC_CHECK(!knows(daemon.name), "a daemon must not be started twice", daemon.name);
    Kept kept{.daemon = std::move(daemon)};
    launch(kept, Clock::now());
    kept_.push_back(std::move(kept));
}

void Supervisor::ended(Kept& kept, int status, Clock::time_point now) {
    kill(-kept.child, SIGKILL);  // else its children, such as nginx workers, would keep its ports
    kept.child = 0;
    files_.ended(kept.daemon.name);
    if (status == 0 && kept.daemon.is_done_by_exit_0) {
        kept.is_done = true;
        files_.finished(kept.daemon.name);
        log_info("{} is done", kept.daemon.name);
        return;
    }
    const bool was_good = now - kept.started >= kGoodRun;
    if (was_good) kept.pause = 0ms;
    kept.pause = std::clamp<std::chrono::milliseconds>(kept.pause * 2, kFirstPause, kMaxPause);
    kept.retry = now + kept.pause;
    // The first error of a long log says nothing of its end.
    const std::string why = was_good ? std::string{} : failure_of(kept.daemon.name);
    log_warning("{} ended with status {}; restarting it in {} ms{}", kept.daemon.name, status,
                kept.pause.count(), why.empty() ? "" : fmt::format(". Its log says: {}", why));
}

void Supervisor::reap_strays() {
    for (const pid_t child : children_of_this_process()) {
        if (std::ranges::none_of(kept_, [&](const Kept& kept) { return kept.child == child; })) {
            platform::poll_child(child);
        }
    }
}

void Supervisor::advance(Clock::time_point now) {
    reap_strays();
    for (auto& kept : kept_) {
        if (kept.is_done) continue;
        if (kept.child != 0) {
            if (const auto status = platform::poll_child(kept.child)) ended(kept, *status, now);
        } else if (now >= kept.retry) {
            try {
                launch(kept, now);
            } catch (const Error& error) {
                log_error("{}", error.what());
                ended(kept, 127, now);
            }
        }
    }
}

void Supervisor::end(Kept& kept) {
    if (kept.child == 0) return files_.finished(kept.daemon.name);
    kill(kept.child, SIGTERM);
    const auto deadline = Clock::now() + kept.daemon.timeout;
    while (!platform::poll_child(kept.child)) {
        if (Clock::now() >= deadline) {
            log_warning("{} did not stop in time; killing it", kept.daemon.name);
            kill(kept.child, SIGKILL);
            while (waitpid(kept.child, nullptr, 0) < 0 && errno == EINTR) continue;
            break;
        }
        std::this_thread::sleep_for(kPoll);
    }
    kill(-kept.child, SIGKILL);
    kept.child = 0;
    files_.finished(kept.daemon.name);
}

void Supervisor::stop(const std::string& name) {
    Kept* const kept = find(name);
    if (kept == nullptr) return;
    end(*kept);
    std::erase_if(kept_, [&](const Kept& each) { return each.daemon.name == name; });
}

void Supervisor::signal(const std::string& name, int number) {
    const Kept* const kept = find(name);
    if (kept != nullptr && kept->child != 0) kill(kept->child, number);
}

void Supervisor::stop_all() {
    while (!kept_.empty()) {
        end(kept_.back());
        kept_.pop_back();
    }
    for (auto left = children_of_this_process(); !left.empty(); left = children_of_this_process()) {
        for (const pid_t child : left) {
            kill(child, SIGKILL);
            while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
        }
    }
}

}  // namespace dedloc::project
