// The project's revocations as this voter knows them: those in the database, which it reads every
// two seconds (at a voter on another machine, the list that the run's backbone sends), and those
// that an administrator has sent to it and that the database does not have yet, because it was
// away. These are in a file until they are in the database.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "project_server/control/messages.hpp"
#include "project_server/database/revocations.hpp"

namespace dedloc::backbone {

/// Settings of a RevocationWatch.
struct RevocationOptions {
    std::optional<server::DatabaseSettings> database;  ///< absent: there is none
    std::filesystem::path pending;                     ///< the file; need not exist
    /// Called with every new list. Thread: any; one call at a time.
    std::function<void(const formats::Revocations&)> publish;
};

/// Thread: any. Reconnects after an outage.
class RevocationWatch {
  public:
    /// Reads the file. Errors: IoError, InputError (a damaged file).
    explicit RevocationWatch(RevocationOptions options);

    /// Moves what is pending into the database, reads its list (server::recent_revocations) and
    /// publishes it. While the database cannot be reached, which is logged once, nothing changes.
    /// The lists' times never go back, even if the clock does.
    void poll(formats::UtcSeconds now);
    /// At a voter without a database: takes the project's list, unless it has a newer one, and
    /// publishes it.
    void hear(const formats::Revocations& list, formats::UtcSeconds now);
    /// Publishes a list that has these too. Before it returns they are on the disk.
    /// Errors: IoError, InputError (too many are pending).
    void revoke(const control::Revocation& named, formats::UtcSeconds now);
    /// Drops these from what is pending, so that they do not come back, and poll()s. Errors:
    /// IoError.
    void forgive(const control::Revocation& named, formats::UtcSeconds now);

  private:
    void publish(formats::UtcSeconds now);

    const RevocationOptions options_;

    std::mutex database_mutex_;  ///< held while the database is used; taken before mutex_
    std::unique_ptr<server::Database> database_;  ///< guarded by database_mutex_
    bool is_away_ = false;                        ///< guarded by database_mutex_

    std::mutex mutex_;
    control::Revocation pending_;   ///< guarded by mutex_
    formats::Revocations known_;    ///< the database's or the one heard, guarded by mutex_
    formats::UtcSeconds latest_{};  ///< guarded by mutex_
};

}  // namespace dedloc::backbone
