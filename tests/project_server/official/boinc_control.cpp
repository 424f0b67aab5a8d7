// bin/start, bin/stop and bin/status of an official BOINC server's project, for tests: one program
// that goes by its name. It does what the server's `sched/start` does under Python 3, in these
// points especially:
//   - start locks pid_HOST/NAME.lock with a POSIX lock, leaves the descriptor open for the daemon,
//     and skips a daemon whose lock is held; it says so on a terminal or with -v only
//   - stop sends SIGHUP to the processes in all pid files and neither waits for them nor deletes
//     these files, because its lists are iterators that are used up after the first loop
//   - status lists daemons on a terminal or with -v only, and deletes lock files that are not held
// It does not wait five seconds for the feeder, and runs no tasks.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/official/entries.hpp"
#include "project_server/official/xml_file.hpp"

namespace {

namespace fs = std::filesystem;
using namespace dedloc;

constexpr std::chrono::milliseconds kForkDelay{100};  // sched/start has the same

struct Daemon {
    std::string cmd;
    std::string name;
    bool is_disabled = false;
};

class Control {
  public:
    Control(fs::path project, bool is_verbose)
        : project_(std::move(project)), is_verbose_(is_verbose), pids_(project_ / "pid_machine") {
        for (const char* const folder : {"pid_machine", "log_machine", "tmp_machine"}) {
            fs::create_directories(project_ / folder);
        }
        const official::XmlFile xml{project_, official::kConfigFile, "boinc"};
        for (const auto& entry : xml.text().children(official::kDaemonsPath)) {
            const auto disabled = entry.field("disabled");
            const auto cmd = entry.field("cmd");
            daemons_.push_back({.cmd = cmd,
                                .name = official::program_of(cmd),
                                .is_disabled = !disabled.empty() && disabled != "0"});
        }
    }

    void start() {
        std::ofstream{project_ / "enabled"} << "1\n";
        fs::remove(project_ / "stop_daemons");
        for (const Daemon& daemon : daemons_) {
            if (!daemon.is_disabled) run(daemon);
        }
    }
    void stop() {
        std::ofstream{project_ / "enabled"} << "0\n";
        std::ofstream{project_ / "stop_daemons"} << "<stop/>\n";
        for (const auto& file : fs::directory_iterator{pids_}) {
            if (file.path().extension() != ".pid") continue;
            const pid_t process = read_pid(file.path());
            if (process <= 0 || kill(process, SIGHUP) != 0) continue;
            if (is_verbose_) std::printf("  Killed process %d\n", process);
        }
    }
    void status() const {
        std::string enabled;
        std::ifstream{project_ / "enabled"} >> enabled;
        std::printf("BOINC is %s\n", enabled == "1" ? "ENABLED" : "DISABLED");
        if (!is_verbose_) return;
        std::printf("\nDAEMON  pid  status      lockfile disabled  commandline\n");
        int number = 0;
        for (const Daemon& daemon : daemons_) {
            const pid_t process = read_pid(pids_ / (daemon.name + ".pid"));
            const char* const state = process <= 0            ? "           "
                                      : kill(process, 0) == 0 ? " running   "
                                                              : "NOT RUNNING";
            const fs::path file = pids_ / (daemon.name + ".lock");
            const bool is_held = !lock(file);
            if (!is_held) fs::remove(file);
            std::printf("  %2d  %5d %s %s %s   %s\n", ++number, process, state,
                        is_held ? " locked " : "UNLOCKED",
                        daemon.is_disabled ? " yes    " : " no     ", daemon.cmd.c_str());
        }
    }

  private:
    /// Leaves the descriptor open, also across exec. False: another process has the lock.
    static bool lock(const fs::path& file) {
        const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0664);
        return descriptor >= 0 && lockf(descriptor, F_TLOCK, 0) == 0;
    }
    static pid_t read_pid(const fs::path& file) {
        pid_t process = 0;
        std::ifstream{file} >> process;
        return process;
    }

    void run(const Daemon& daemon) const {
        std::fflush(stdout);
        if (fork() != 0) {
            std::this_thread::sleep_for(kForkDelay);
            return;
        }
        setsid();
        if (fork() != 0) std::_Exit(0);
        if (!lock(pids_ / (daemon.name + ".lock"))) {
            if (is_verbose_)
                std::fprintf(stderr, "  Daemon already running: %s\n", daemon.cmd.c_str());
            std::_Exit(0);
        }
        if (is_verbose_) std::printf("  Starting daemon: %s\n", daemon.cmd.c_str());
        std::fflush(stdout);
        const fs::path log = project_ / "log_machine" / (daemon.name + ".log");
        const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0664);
        const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(input, STDIN_FILENO);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        std::ofstream{pids_ / (daemon.name + ".pid")} << getpid() << '\n';
        fs::current_path(project_ / "tmp_machine");
        const char* const path = std::getenv("PATH");
        const std::string first = (project_ / "bin").string() + ":" + (path != nullptr ? path : "");
        setenv("PATH", first.c_str(), 1);
        std::istringstream words{daemon.cmd};
        std::vector<std::string> arguments;
        for (std::string word; words >> word;) arguments.push_back(word);
        std::vector<char*> pointers;
        for (auto& word : arguments) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        execvp(pointers.front(), pointers.data());
        std::perror(("Couldn't execute '" + daemon.cmd + "'").c_str());
        std::_Exit(1);
    }

    const fs::path project_;
    const bool is_verbose_;
    const fs::path pids_;
    std::vector<Daemon> daemons_;
};

}  // namespace

int main(int count, char** arguments) {
    const fs::path self = fs::absolute(arguments[0]);
    bool is_verbose = isatty(STDOUT_FILENO) != 0;
    for (int i = 1; i < count; ++i) {
        if (std::string{arguments[i]} == "-v") is_verbose = true;
    }
    try {
        Control control{fs::canonical(self.parent_path().parent_path()), is_verbose};
        const std::string name = self.filename().string();
        if (name == "start") control.start();
        if (name == "stop") control.stop();
        if (name == "status") control.status();
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
