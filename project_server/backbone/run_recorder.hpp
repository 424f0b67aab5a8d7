// Copies ledger, checkpoints and seats into the project's database, on a thread of its own, so that
// a slow or unreachable database never delays the swarm. Commits are not queued: the recorder reads
// the ledger file behind its writer, and after an outage continues where it was. After a restart it
// reads the ledger from its start. Every statement is idempotent. A row with a value that the
// database refuses is logged and left out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "peer/events.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/presence_tracker.hpp"
#include "project_server/control/messages.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::backbone {

/// Settings of a RunRecorder.
struct RecorderOptions {
    server::DatabaseSettings database;  ///< the project's database
    std::string run_name;               ///< dedloc_run.name
    RunId run;                          ///< must be the id in that row
    PeerKey backbone;                   ///< the backbone that the run file names
    std::filesystem::path ledger;       ///< must exist
    Codec codec = Codec::kFp32;         ///< the run's, for the size of reduced bytes
};

/// The thread that writes the rows of one run.
class RunRecorder {
  public:
    /// Starts the thread, which first writes the rows of the whole ledger. `store` must outlive the
    /// recorder.
    RunRecorder(RecorderOptions options, const CheckpointStore& store);
    /// Calls stop().
    ~RunRecorder();
    RunRecorder(const RunRecorder&) = delete;
    RunRecorder& operator=(const RunRecorder&) = delete;

    // Notifications. Thread: any; none blocks. A newer value replaces one that is not written yet.
    void ledger_has_grown();
    void checkpoints_have_changed();
    void swarm_seen(std::vector<SeatView> seats);
    void run_is_finished(const Digest& digest);
    void pause_changed(bool is_paused);
    /// The swarm's coordinator accuses a peer. Accusations of one peer of the same fault are
    /// counted together; those that are not written yet are bounded.
    void suspected(const control::Suspicion& suspicion);

    /// Tries once more to write what is new, then ends the thread; does not wait for a database
    /// that cannot be reached.
    void stop();

  private:
    /// Accusations of one peer of one fault.
    struct Counted {
        control::Suspicion last;
        std::uint64_t times = 0;
    };
    using Accusations = std::map<std::pair<PeerKey, std::string>, Counted>;
    struct News {
        bool ledger = true;
        bool checkpoints = true;
        std::optional<std::vector<SeatView>> seats{};
        std::optional<Digest> final_digest{};
        std::optional<bool> is_paused{};
        Accusations accusations{};
        bool any() const {
            return ledger || checkpoints || seats || final_digest || is_paused ||
                   !accusations.empty();
        }
    };

    void run();
    bool record(News& news);
    void connect();
    void record_ledger();
    void record_contributions(const LedgerCommit& commit);
    void record_presences(PresenceTracker& presences);
    void record_ledger_record(const LedgerCommit& commit);
    void record_ledger_record(const LedgerSettled& settled);
    void record_ledger_record(const SignedGeneration& generation);
    void record_ledger_record(const StateCertificate&) {}  ///< no row: the settled record has it
    void record_checkpoints();
    void record_seats(const std::vector<SeatView>& seats);
    void record_end(const Digest& digest);
    void record_pause(bool is_paused);
    void record_accusations(const Accusations& accusations);
    void keep_unrecorded(News&& news);
    template <class Work>
    void unless_refused(const Work& work);
    void write(std::string_view sql, server::Parameters parameters);

    const RecorderOptions options_;
    const CheckpointStore& store_;

    // Used by the recorder's thread only.
    LedgerReader reader_;
    LedgerReader::Place recorded_;  ///< the rows of all records before this place are written
    PresenceTracker presences_;     ///< those that end before recorded_
    std::unique_ptr<server::Database> database_;
    std::int64_t run_row_ = 0;  ///< dedloc_run.id
    /// dedloc_run.compacted, valid in a transaction: contributions up to it are in daily sums.
    std::uint64_t compacted_ = 0;
    bool is_down_ = false;            ///< an outage that has been logged
    std::set<std::string> refusals_;  ///< rows that the database refuses, as logged

    std::mutex mutex_;
    std::condition_variable changed_;
    News news_;                 ///< guarded by mutex_
    bool is_stopping_ = false;  ///< guarded by mutex_
    std::thread thread_;
};

}  // namespace dedloc::backbone
