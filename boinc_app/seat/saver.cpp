// A save takes three threads: main asks the worker for a copy, the worker hands it to take(), and
// the thread of this file writes it without holding the lock. is_busy_ is set from the request to
// the end of the write, and keeps other saves and exports from beginning. The saved step is noted
// only after the file is written, so a failed write is due again after the interval. A waiting
// export begins only when no copy is to be written. If a new generation makes the saved step void,
// the file is deleted at once.
#include "boinc_app/seat/saver.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::seat {
namespace {

constexpr std::uint64_t kBytesPerDay = 8'000'000'000;
constexpr std::uint64_t kSecondsPerDay = 86'400;
constexpr int kIntervalsAtEnd = 4;

}  // namespace

std::chrono::seconds save_interval(std::uint64_t bytes, std::chrono::seconds wanted) {
    const std::uint64_t min = bytes * kSecondsPerDay / kBytesPerDay;
    return std::max(wanted, std::chrono::seconds{min});
}

Saver::Saver(SaverOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}

Saver::~Saver() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Saver::has(const StatePlace& place) {
    const std::lock_guard lock(mutex_);
    step_ = place.step();
    generation_ = place.number();
}

bool Saver::is_due(Clock::time_point now, StepIndex step, std::chrono::seconds interval) {
    const std::lock_guard lock(mutex_);
    const bool has_moved = step > StepIndex{0} && step_ != step;
    return !is_busy_ && has_moved && (!last_ || now - *last_ >= interval);
}

void Saver::ask(Clock::time_point now) {
    {
        const std::lock_guard lock(mutex_);
        is_busy_ = true;
        last_ = now;
    }
    options_.ask_for_copy();
}

void Saver::save_when_due(Clock::time_point now, StepIndex step, std::chrono::seconds wanted) {
    {
        // The first one is due an interval after the start.
        const std::lock_guard lock(mutex_);
        if (!last_) last_ = now;
    }
    if (is_due(now, step, save_interval(options_.bytes, wanted))) ask(now);
}

void Saver::save_at_end(Clock::time_point now, StepIndex step, std::chrono::seconds limit) {
    const auto interval = save_interval(options_.bytes, std::chrono::seconds{0});
    if (is_due(now, step, interval / kIntervalsAtEnd)) ask(now);
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [this] { return !is_busy_; })) {
        log_warning("the state was not saved in {} s", limit.count());
    }
}

void Saver::generation_begun(std::uint64_t generation, StepIndex first) {
    std::unique_lock lock(mutex_);
    if (!step_ || generation <= generation_ || first >= *step_) return;
    log_info("the saved state of step {} is void, since generation {} began at step {}: deleted",
             step_->value(), generation, first.value());
    step_.reset();
    platform::remove_or_warn(options_.path);
}

void Saver::take(std::optional<StateToSave> state) {
    {
        const std::lock_guard lock(mutex_);
        copy_ = std::move(state);
        is_busy_ = copy_.has_value();
    }
    changed_.notify_all();
}

void Saver::export_to(std::filesystem::path to) {
    {
        const std::lock_guard lock(mutex_);
        export_to_ = std::move(to);
    }
    changed_.notify_all();
}

std::optional<ExportNews> Saver::take_exported() {
    const std::lock_guard lock(mutex_);
    return std::exchange(exported_, std::nullopt);
}

void Saver::write_export(const std::filesystem::path& to) {
    ExportNews news;
    try {
        const std::filesystem::path unfinished = options_.path.string() + ".export";
        news.step = export_checkpoint(options_.path, options_.run, unfinished, to);
    } catch (const std::exception& error) {
        news.failure = error.what();
    }
    const std::lock_guard lock(mutex_);
    exported_ = std::move(news);
}

bool Saver::take_saved() {
    const std::lock_guard lock(mutex_);
    return std::exchange(has_saved_, false);
}

void Saver::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return copy_ || has_export() || is_stopping_; });
        if (is_stopping_) return;
        if (!copy_) {
            // A save that is asked for meanwhile waits until this is written.
            const std::filesystem::path to = *std::exchange(export_to_, std::nullopt);
            lock.unlock();
            write_export(to);
            lock.lock();
            continue;
        }
        const StateToSave state = *std::exchange(copy_, std::nullopt);
        lock.unlock();
        write(state);
        lock.lock();
        is_busy_ = false;
        changed_.notify_all();
    }
}

void Saver::write(const StateToSave& state) {
    const auto place = options_.place_of(state.head.step);
    if (!place) return;
    try {
        write_state_file(options_.path, options_.run, *place, state);
    } catch (const std::exception& error) {
        // Training needs no saved state. A disk that stays full is told once.
        const std::lock_guard lock(mutex_);
        if (!std::exchange(has_failed_, true)) {
            log_warning("the state of step {} is not saved: {}", state.head.step.value(),
                        error.what());
        }
        return;
    }
    has(*place);
    const std::lock_guard lock(mutex_);
    has_failed_ = false;
    has_saved_ = true;
}

}  // namespace dedloc::seat
