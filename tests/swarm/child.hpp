// Runs a program under test as a child process: reads its standard output by lines, writes its log
// to a file, sends signals, and kills it at the latest when the test's process ends.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dedloc::test {

/// One child process. Not copyable.
class Child final {
  public:
    /// Starts `words[0]`; standard error is appended to `log`. The child is killed when this
    /// process dies. Requires that this process has one thread, and that a pipe can be created
    /// (DEDLOC_CHECK). Errors: IoError if the program cannot be started.
    Child(const std::vector<std::string>& words, const std::filesystem::path& log);
    /// Kills the child if it still runs.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Sends a signal if the child still runs.
    void signal(int number) const;
    /// Its exit status, or 128 + signal; nothing while it runs.
    std::optional<int> status();
    /// Whole lines that it has printed since the last call. Does not block.
    std::vector<std::string> take_lines();
    /// Its peak resident memory so far. Requires that it runs (DEDLOC_CHECK).
    std::size_t peak_resident_bytes() const;
    /// Descriptor for poll(), readable when there may be lines; −1: the output is closed.
    int output() const { return output_; }

  private:
    pid_t pid_ = -1;
    int output_ = -1;
    std::string partial_;  ///< the beginning of an incomplete line
    std::optional<int> status_;
};

}  // namespace dedloc::test
