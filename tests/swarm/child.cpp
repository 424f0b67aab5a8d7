#include "tests/swarm/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "peer/base/check.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::test {

Child::Child(const std::vector<std::string>& words, const std::filesystem::path& log) {
    std::array<int, 2> ends{};
    DEDLOC_CHECK(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe cannot be created");
    // The child's end blocks while the pipe is full.
    fcntl(ends[1], F_SETFL, 0);
    output_ = ends[0];
    pid_ = platform::spawn(words,
                           {.output = log, .standard_output = ends[1], .death_signal = SIGKILL});
    close(ends[1]);
}

Child::~Child() {
    if (!status()) {
        signal(SIGKILL);
        platform::wait_for_child(pid_);
    }
    if (output_ >= 0) close(output_);
}

void Child::signal(int number) const {
    if (!status_) kill(pid_, number);
}

std::optional<int> Child::status() {
    if (!status_) status_ = platform::poll_child(pid_);
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
