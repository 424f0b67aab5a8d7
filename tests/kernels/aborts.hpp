// Runs code that must abort in a child process, and returns its output.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>

namespace dedloc::tests {

/// The output of `misuse` to stderr before it aborted; empty if it returned or ended otherwise.
inline std::string abort_message(const std::function<void()>& misuse) {
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL);
        misuse();
        _exit(0);
    }
    close(pipe_ends[1]);
    std::string message;
    std::array<char, 512> chunk{};
    for (ssize_t count = 0; (count = read(pipe_ends[0], chunk.data(), chunk.size())) > 0;) {
        message.append(chunk.data(), static_cast<std::size_t>(count));
    }
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const bool has_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    return has_aborted ? message : std::string{};
}

/// Whether `misuse` aborted with this sentence.
inline bool aborts_saying(const char* sentence, const std::function<void()>& misuse) {
    return abort_message(misuse).find(sentence) != std::string::npos;
}

}  // namespace dedloc::tests
