#include "project_server/cli/build_view.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace dedloc::cli {
namespace {

using Task = corpus::BuildProgress::Task;
using namespace std::chrono_literals;

constexpr std::chrono::steady_clock::duration kPause = 5s;  // between lines, except on a terminal
constexpr std::uint64_t kLongText = 10'000'000;             // bytes; each task is announced

double megabytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1e6;
}

}  // namespace

std::string progress_line(const corpus::BuildProgress& progress, std::uint64_t begin,
                          std::chrono::duration<double> elapsed) {
    if (progress.task == Task::kTraining) return "training the tokenizer";
    const char* what = "tokenising";
    if (progress.task == Task::kReading) what = "reading";
    if (progress.task == Task::kHoldingOut) what = "tokenising what is held out,";
    std::string line =
        fmt::format("{} {:.0f} of {:.0f} MB ({:.0f} %)", what, megabytes(progress.done),
                    megabytes(progress.total),
                    100 * megabytes(progress.done) / std::max(1e-6, megabytes(progress.total)));
    const double done = megabytes(progress.done) - megabytes(begin);
    const double rate = done / std::max(1e-3, elapsed.count());
    if (rate > 0) {
        // A text that grows meanwhile has more than all.
        const double left = std::max(0.0, megabytes(progress.total) - megabytes(progress.done));
        line += fmt::format(", {:.1f} MB/s, {:.0f} s left", rate, left / rate);
    }
    if (progress.task != Task::kReading) {
        line += fmt::format(", {:.1f} million tokens", static_cast<double>(progress.tokens) / 1e6);
    }
    return line;
}

BuildView::BuildView() : is_terminal_(isatty(STDERR_FILENO) != 0) {}

BuildView::~BuildView() {
    if (is_terminal_ && has_task_) std::fputs("\r\033[K", stderr);
}

void BuildView::show(const corpus::BuildProgress& progress) {
    const auto now = Clock::now();
    const bool is_new = !has_task_ || progress.task != task_;
    if (is_new) {
        has_task_ = true;
        task_ = progress.task;
        begin_ = progress.done;
        task_began_ = now;
    }
    const bool is_due = now - printed_ >= (is_terminal_ ? Clock::duration{100ms} : kPause);
    if (!is_due && !(is_new && progress.total >= kLongText)) return;
    printed_ = now;
    const auto line = progress_line(progress, begin_, now - task_began_);
    if (is_terminal_) {
        fmt::print(stderr, "\r\033[K{}", line);
    } else {
        fmt::print(stderr, "{}\n", line);
    }
    std::fflush(stderr);
}

}  // namespace dedloc::cli
