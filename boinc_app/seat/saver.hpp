// When a trainer's state is saved, and the thread that writes it, so that neither training nor the
// network waits for the disk.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "boinc_app/seat/saved_state.hpp"

namespace dedloc::seat {

/// Settings of a Saver.
struct SaverOptions {
    std::filesystem::path path;  ///< the file (saved_state.hpp)
    RunId run;                   ///< the run's
    std::uint64_t bytes = 0;     ///< a state's
    /// Asks the worker for a copy of its state, which it gives to take(). Thread: main.
    std::function<void()> ask_for_copy;
    /// The place of the state of this step; nothing: the decision that led to it is not known
    /// here, as after a whole state was fetched. Thread: any.
    std::function<std::optional<StatePlace>(StepIndex)> place_of;
};

/// What has become of a checkpoint that was asked for.
struct ExportNews {
    StepIndex step;         ///< its state's
    std::string failure{};  ///< why there is none; empty: it is in its place
};

/// The least time between two saved states: what the volunteer wants, and no more than 8 GB a day
/// are written. (A disk is made for some tens of gigabytes a day.)
std::chrono::seconds save_interval(std::uint64_t bytes, std::chrono::seconds wanted);

/// Saves states. Memory: one copy of the state at most, between the worker's answer and the end of
/// the write; with a trainer on processors none, unless the state changes meanwhile. Thread: main,
/// and one of its own, which writes.
class Saver {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Saver(SaverOptions options);
    /// Waits until a write that is under way has ended.
    ~Saver();
    Saver(const Saver&) = delete;
    Saver& operator=(const Saver&) = delete;

    /// The file has this state already.
    void has(const StatePlace& place);
    /// Saves the state if it has moved and save_interval() has passed since the last write began.
    /// `step` is the last one decided, `wanted` what the volunteer wants. Returns at once.
    void save_when_due(Clock::time_point now, StepIndex step, std::chrono::seconds wanted);
    /// Before the process ends: saves the state if it has moved and a quarter of save_interval()
    /// has passed, so that a job that is stopped all the time writes at most 32 GB a day. Returns
    /// once it is on the disk, or after `limit`.
    void save_at_end(Clock::time_point now, StepIndex step, std::chrono::seconds limit);
    /// Writes the saved state, or the next one if none is saved yet, as a checkpoint to `to`.
    void export_to(std::filesystem::path to);
    /// What has become of it, once.
    std::optional<ExportNews> take_exported();
    /// A generation has begun at `first`. Deletes a file of a state that it has made void.
    void generation_begun(std::uint64_t generation, StepIndex first);
    /// The worker's answer, nothing if it holds no state; its thread.
    void take(std::optional<StateToSave> state);
    /// Whether a state was saved since the last call.
    bool take_saved();

  private:
    bool is_due(Clock::time_point now, StepIndex step, std::chrono::seconds interval);
    void ask(Clock::time_point now);
    void run();
    void write(const StateToSave& state);
    void write_export(const std::filesystem::path& to);
    bool has_export() const { return export_to_ && step_ && !is_busy_; }

    const SaverOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by mutex_.
    std::optional<StateToSave> copy_;  ///< to write
    bool is_busy_ = false;             ///< a copy was asked for and is not written yet
    bool is_stopping_ = false;
    std::optional<Clock::time_point> last_;  ///< when the last write was asked for
    std::optional<StepIndex> step_;          ///< the file's state
    std::uint64_t generation_ = 0;           ///< the file's state belongs to it
    bool has_failed_ = false;                ///< the last write has failed, and the log says so
    std::optional<std::filesystem::path> export_to_;  ///< asked for and not written yet
    std::optional<ExportNews> exported_;              ///< not taken yet
    bool has_saved_ = false;                          ///< since the last take_saved()
    std::thread thread_;
};

}  // namespace dedloc::seat
