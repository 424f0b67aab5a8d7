// Brings what the backbone knows into the project's database, on a thread of its own, so that a
// slow or absent database never touches the swarm. Commits are not queued: the recorder reads the
// ledger behind its writer, and after an outage or a restart goes on from there. Every statement
// may be repeated without harm.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "peer/events.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::backbone {

struct RecorderOptions {
    server::DatabaseSettings database;
    std::string run_name;
    RunId run;
    PeerKey backbone;              ///< that the run file names
    std::filesystem::path ledger;  ///< must exist
};

class RunRecorder {
  public:
    /// Starts the thread, which first brings the database up to the ledger. `store` must outlive
    /// the recorder.
    RunRecorder(RecorderOptions options, const CheckpointStore& store);
    /// As stop().
    ~RunRecorder();
    RunRecorder(const RunRecorder&) = delete;
    RunRecorder& operator=(const RunRecorder&) = delete;

    // Told from any thread; none of these waits. Each keeps only the newest news.
    void ledger_has_grown();
    void checkpoints_have_changed();
    void swarm_seen(std::vector<SeatView> seats);
    void run_is_finished(const Digest& digest);

    /// Tries once more to write what is new, then ends the thread; does not wait for an absent
    /// database.
    void stop();

  private:
    struct News {
        bool ledger = true;
        bool checkpoints = true;
        std::optional<std::vector<SeatView>> seats{};
        std::optional<Digest> final_digest{};
        bool any() const { return ledger || checkpoints || seats || final_digest; }
    };

    void run();
    bool record(News& news);
    void connect();
    void record_ledger();
    void record_ledger_record(const LedgerCommit& commit);
    void record_ledger_record(const LedgerSettled& settled);
    void record_ledger_record(const SignedGeneration& generation);
    void record_checkpoints();
    void record_seats(const std::vector<SeatView>& seats);
    void record_end(const Digest& digest);
    void keep_unrecorded(News&& news);

    const RecorderOptions options_;
    const CheckpointStore& store_;

    // Recorder's thread only.
    LedgerReader reader_;
    LedgerReader::Place recorded_;  ///< up to here the ledger's rows are written
    std::unique_ptr<server::Database> database_;
    std::int64_t run_row_ = 0;  ///< dedloc_run.id
    bool is_down_ = false;      ///< an outage that the log already tells of

    std::mutex mutex_;
    std::condition_variable changed_;
    News news_;                 ///< guarded by mutex_
    bool is_stopping_ = false;  ///< guarded by mutex_
    std::thread thread_;
};

}  // namespace dedloc::backbone
