// A program under test as a process of its own: lines of its standard output, its log in a file,
// any signal, and never left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dedloc::test {

class Child final {
  public:
    /// Starts `words[0]`; standard error is appended to `log`. It is killed when this process dies.
    /// Requires that this process has one thread, and a pipe and a process more (DEDLOC_CHECK).
    Child(const std::vector<std::string>& words, const std::filesystem::path& log);
    /// Kills it if it still runs.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void signal(int number) const;
    /// Its exit status, 128 + signal if one ended it; nothing while it runs.
    std::optional<int> status();
    /// Whole lines that it has printed since the last call. Never waits.
    std::vector<std::string> take_lines();
    /// The most memory that it has held so far. Requires that it runs.
    std::size_t peak_resident_bytes() const;
    /// Readable when there may be lines, for poll(). −1: it has closed its output.
    int output() const { return output_; }

  private:
    pid_t pid_ = -1;
    int output_ = -1;
    std::string partial_;  ///< a line not yet whole
    std::optional<int> status_;
};

}  // namespace dedloc::test
