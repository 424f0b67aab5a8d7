// A lock of bin/start is a POSIX lock of a file whose descriptor exec has left open, so closing the
// descriptor releases it. A thread waits for the signals with signalfd() and poll(), which fetch
// none, so the daemon's own wait sees them all the same.
#include "project_server/handover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"
#include "project_server/settings.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kLookAgain = 50ms;

/// Descriptors of lock files in bin/start's pid_HOST folder that exec has left open.
std::vector<platform::Descriptor> inherited_locks() {
    std::vector<platform::Descriptor> found;
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator{"/proc/self/fd", unreadable}) {
        const std::string name = entry.path().filename().string();
        int descriptor = -1;
        std::from_chars(name.data(), name.data() + name.size(), descriptor);
        const int flags = descriptor > STDERR_FILENO ? fcntl(descriptor, F_GETFD) : -1;
        if (flags < 0 || (flags & FD_CLOEXEC) != 0) continue;
        struct stat facts {};
        if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        const fs::path file = fs::read_symlink(entry.path(), unreadable);
        if (file.parent_path().filename().string().starts_with("pid_"))
            found.emplace_back(descriptor);
    }
    for (const auto& descriptor : found) fcntl(descriptor.id(), F_SETFD, FD_CLOEXEC);
    return found;
}

fs::path locks_folder(const fs::path& project) {
    return state_folder(project) / "pids";
}

}  // namespace

/// Gives inherited locks up, when told to or when a stop signal is pending.
class Handover::Watch final {
  public:
    explicit Watch(std::vector<platform::Descriptor> locks) : locks_(std::move(locks)) {
        sigset_t signals{};
        sigemptyset(&signals);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
        signal_ = platform::Descriptor{signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
        end_ = platform::Descriptor{eventfd(0, EFD_CLOEXEC)};
        if (!signal_ || !end_) return;  // then the locks are given up a little later
        thread_ = std::thread([this] { wait(); });
    }
    ~Watch() {
        if (!thread_.joinable()) return;
        eventfd_write(end_.id(), 1);
        thread_.join();
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void give_up() {
        const std::lock_guard guard(mutex_);
        locks_.clear();
    }

  private:
    void wait() {
        std::array<pollfd, 2> watched{pollfd{.fd = signal_.id(), .events = POLLIN, .revents = 0},
                                      pollfd{.fd = end_.id(), .events = POLLIN, .revents = 0}};
        while (poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) continue;
        give_up();
    }

    std::mutex mutex_;
    std::vector<platform::Descriptor> locks_;
    platform::Descriptor signal_;
    platform::Descriptor end_;
    std::thread thread_;
};

Handover::Handover(const fs::path& project, const std::string& name,
                   const platform::StopSignals& signals) {
    if (!is_official(project)) return;
    watch_ = std::make_unique<Watch>(inherited_locks());
    fs::create_directories(locks_folder(project));
    const fs::path file = locks_folder(project) / (name + ".lock");
    lock_ = platform::open_to("write", file, O_RDWR | O_CREAT, platform::kPublicFile);
    for (int tries = 1; flock(lock_.id(), LOCK_EX | LOCK_NB) != 0; ++tries) {
        // The first failure may be that of daemons_in_turn(), which tries the lock, too.
        if (tries == 3) log_info("Waiting until its predecessor has ended");
        if (!signals.wait(kLookAgain)) continue;
        has_begun_ = false;
        give_way();
        return;
    }
    const std::string process = fmt::format("{}\n", getpid());
    if (ftruncate(lock_.id(), 0) != 0 || write(lock_.id(), process.data(), process.size()) < 0) {
        log_warning("cannot write {}: {}", file.string(), std::strerror(errno));
    }
}

Handover::~Handover() = default;

void Handover::give_way() {
    if (watch_) watch_->give_up();
}

std::vector<RunningDaemon> daemons_in_turn(const fs::path& project) {
    std::vector<RunningDaemon> daemons;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator{locks_folder(project), absent}) {
        if (entry.path().extension() != ".lock") continue;
        const platform::Descriptor file = platform::try_open(entry.path(), O_RDONLY);
        if (!file) continue;
        struct stat facts {};
        if (flock(file.id(), LOCK_SH | LOCK_NB) != 0 && fstat(file.id(), &facts) == 0) {
            RunningDaemon daemon{.name = entry.path().stem().string(),
                                 .since = static_cast<double>(facts.st_mtime)};
            std::ifstream{entry.path()} >> daemon.process;
            daemons.push_back(std::move(daemon));
        }
    }
    std::ranges::sort(daemons, {}, &RunningDaemon::name);
    return daemons;
}

}  // namespace dedloc::server
