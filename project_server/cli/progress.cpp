// The work itself may be silent for long, so a thread of its own prints. Signals are the command's:
// the thread is started with all of them blocked.
#include "project_server/cli/progress.hpp"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace dedloc::cli {
namespace {

double megabytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

/// A thread that no signal interrupts.
template <class Work>
std::jthread start_deaf(Work work) {
    sigset_t all{};
    sigset_t former{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    std::jthread thread{std::move(work)};
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
    return thread;
}

}  // namespace

std::string bytes_done(std::uint64_t done, std::uint64_t total, std::uint64_t begin,
                       std::chrono::duration<double> elapsed) {
    std::string text =
        fmt::format("{:.0f} of {:.0f} MB ({:.0f} %)", megabytes(done), megabytes(total),
                    100 * megabytes(done) / std::max(1e-6, megabytes(total)));
    const double rate = (megabytes(done) - megabytes(begin)) / std::max(1e-3, elapsed.count());
    if (rate <= 0) return text;
    // What grows meanwhile has more than all.
    const double left = std::max(0.0, megabytes(total) - megabytes(done));
    return text + fmt::format(", {:.1f} MB/s, {:.0f} s left", rate, left / rate);
}

Progress::Progress(bool is_quiet, Pauses pauses)
    : is_terminal_(isatty(STDERR_FILENO) != 0), pauses_(pauses) {
    if (is_quiet) return;
    thread_ = start_deaf([this](const std::stop_token& done) { watch(done); });
}

Progress::~Progress() = default;

void Progress::say(const std::string& what) {
    set({.what = what});
}

void Progress::share(const std::string& what, double done) {
    set({.what = what, .share = done});
}

void Progress::advance(const std::string& what, std::uint64_t done, std::uint64_t total,
                       const std::string& more) {
    set({.what = what, .more = more, .begin = done, .done = done, .total = total});
}

project::Begins Progress::begins() {
    return [this](const std::string& what) { say(what); };
}

void Progress::set(Task task) {
    const std::lock_guard lock{mutex_};
    const bool goes_on = task.what == task_.what;
    task.began = goes_on ? task_.began : Clock::now();
    if (goes_on) task.begin = task_.begin;
    task_ = std::move(task);
}

std::string Progress::line(Clock::time_point now) const {
    const std::chrono::duration<double> elapsed = now - task_.began;
    if (task_.share >= 0) return fmt::format("{}: {:.0f} %", task_.what, 100 * task_.share);
    if (task_.total == 0) return fmt::format("{}, {:.0f} s", task_.what, elapsed.count());
    return fmt::format("{} {}{}{}", task_.what,
                       bytes_done(task_.done, task_.total, task_.begin, elapsed),
                       task_.more.empty() ? "" : ", ", task_.more);
}

void Progress::watch(const std::stop_token& done) {
    std::unique_lock lock{mutex_};
    auto pause = is_terminal_ ? pauses_.first : pauses_.lines;
    for (;;) {
        changed_.wait_for(lock, done, pause, [] { return false; });
        if (done.stop_requested()) break;
        pause = is_terminal_ ? pauses_.terminal : pauses_.lines;
        if (task_.what.empty()) continue;
        const std::string text = line(Clock::now());
        if (is_terminal_) fmt::print(stderr, "\r\033[K{}", text);
        if (!is_terminal_) fmt::print(stderr, "{}\n", text);
        std::fflush(stderr);
        has_printed_ = true;
    }
    if (is_terminal_ && has_printed_) std::fputs("\r\033[K", stderr);
}

}  // namespace dedloc::cli
