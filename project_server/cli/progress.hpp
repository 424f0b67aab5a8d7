// Shows on the standard error what a command is doing while that takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "project_server/project/begins.hpp"

namespace dedloc::cli {

/// "200 of 400 MB (50 %), 5.0 MB/s, 40 s left": the rate is that of the bytes after `begin`, which
/// took `elapsed`.
std::string bytes_done(std::uint64_t done, std::uint64_t total, std::uint64_t begin,
                       std::chrono::duration<double> elapsed);

/// What a command is doing, in words that say(), share() and advance() replace. A thread shows it:
/// on a terminal after two seconds in one line that changes, elsewhere in a line every ten seconds.
/// Thread: any.
class Progress final {
  public:
    /// How long it is silent.
    struct Pauses {
        std::chrono::milliseconds first{2'000};   ///< before the line on a terminal appears
        std::chrono::milliseconds terminal{100};  ///< between changes of that line
        std::chrono::milliseconds lines{10'000};  ///< before and between lines elsewhere
    };
    /// `is_quiet`: shows nothing, because the output is JSON.
    explicit Progress(bool is_quiet, Pauses pauses);
    explicit Progress(bool is_quiet) : Progress(is_quiet, Pauses{}) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// Removes the line from a terminal.
    ~Progress();

    /// Something that does not know how far it is: its time is shown.
    void say(const std::string& what);
    /// Something of which the share `done`, from 0 to 1, is done.
    void share(const std::string& what, double done);
    /// Something that has done `done` of `total` bytes; `more` follows them.
    void advance(const std::string& what, std::uint64_t done, std::uint64_t total,
                 const std::string& more = {});
    /// Calls say().
    project::Begins begins();

  private:
    using Clock = std::chrono::steady_clock;
    /// What is shown.
    struct Task {
        std::string what{};
        std::string more{};
        std::uint64_t begin = 0;  ///< bytes that were done when it began
        std::uint64_t done = 0;
        std::uint64_t total = 0;  ///< 0: not counted in bytes
        double share = -1;        ///< negative: not known
        Clock::time_point began{};
    };
    void set(Task task);
    void watch(const std::stop_token& done);
    std::string line(Clock::time_point now) const;

    const bool is_terminal_;
    const Pauses pauses_;
    std::mutex mutex_;
    std::condition_variable_any changed_;  ///< only the end is announced
    Task task_;
    bool has_printed_ = false;  ///< the line on the terminal is ours; used by the thread
    std::jthread thread_;       ///< last: it uses the others
};

}  // namespace dedloc::cli
