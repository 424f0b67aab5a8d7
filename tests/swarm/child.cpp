#include "tests/swarm/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "peer/base/check.hpp"

namespace dedloc::test {
namespace {

[[noreturn]] void become(std::vector<char*> words, int output, const char* log) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int errors = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::filesystem::path& log) {
    std::array<int, 2> ends{};
    DEDLOC_CHECK(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe cannot be created");
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pid_ = fork();
    if (pid_ == 0) {
        // The child's end blocks while the pipe is full.
        fcntl(ends[1], F_SETFL, 0);
        become(pointers, ends[1], log.c_str());
    }
    close(ends[1]);
    output_ = ends[0];
    DEDLOC_CHECK(pid_ > 0, "a process cannot be created");
}

Child::~Child() {
    if (!status()) {
        signal(SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    if (output_ >= 0) close(output_);
}

void Child::signal(int number) const {
    if (!status_) kill(pid_, number);
}

std::optional<int> Child::status() {
    int code = 0;
    if (!status_ && waitpid(pid_, &code, WNOHANG) == pid_) {
        status_ = WIFSIGNALED(code) ? 128 + WTERMSIG(code) : WEXITSTATUS(code);
    }
    return status_;
}

std::vector<std::string> Child::take_lines() {
    std::array<char, 65'536> buffer{};
    while (output_ >= 0) {
        const ssize_t got = read(output_, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        if (got == 0) {
            close(output_);
            output_ = -1;
        }
        partial_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::vector<std::string> lines;
    for (std::size_t end = partial_.find('\n'); end != std::string::npos;
         end = partial_.find('\n')) {
        lines.push_back(partial_.substr(0, end));
        partial_.erase(0, end + 1);
    }
    return lines;
}

std::size_t Child::peak_resident_bytes() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    std::string word;
    while (status >> word && word != "VmHWM:") continue;
    std::size_t kilobytes = 0;
    DEDLOC_CHECK(static_cast<bool>(status >> kilobytes),
                 "the process does not run, so it has no VmHWM");
    return kilobytes * 1'024;
}

}  // namespace dedloc::test
