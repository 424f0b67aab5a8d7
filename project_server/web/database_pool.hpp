// Database connections for the threads that serve requests. A request has a connection of its own
// while it is served.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <semaphore>
#include <utility>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Has as many connections as there were concurrent requests, at most kMaxConnections: the database
/// server refuses more than a hundred of all programs, and more at a time only wait for each other
/// there. Thread: any.
class DatabasePool {
  public:
    /// Connections in use at a time.
    static constexpr std::size_t kMaxConnections = 24;
    /// How long a request waits for a connection that others use.
    static constexpr std::chrono::seconds kMaxWait{20};

    explicit DatabasePool(DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Calls work(Database&) with a live connection and returns its result. Drops the connection if
    /// `work` throws. `work` must not call with(). Errors: DatabaseError, also if no connection is
    /// free within kMaxWait, and those of `work`.
    template <class Work>
    auto with(const Work& work) {
        const Turn turn{*this};
        std::unique_ptr<Database> database = take();
        auto result = work(*database);
        give_back(std::move(database));
        return result;
    }

  private:
    using Clock = std::chrono::steady_clock;
    struct Idle {
        std::unique_ptr<Database> database;
        Clock::time_point since;
    };
    /// A connection that has served a request a moment ago is live: to ask it costs a round trip.
    static constexpr std::chrono::seconds kUnchecked{1};

    /// One of the kMaxConnections that may be in use.
    class Turn {
      public:
        explicit Turn(DatabasePool& pool) : pool_(pool) {
            if (pool_.turns_.try_acquire_for(kMaxWait)) return;
            throw DatabaseError{"All connections to the database are in use", 0};
        }
        ~Turn() { pool_.turns_.release(); }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        DatabasePool& pool_;
    };

    std::unique_ptr<Database> take() {
        std::unique_lock lock{mutex_};
        if (idle_.empty()) {
            lock.unlock();
            return std::make_unique<Database>(settings_);
        }
        Idle idle = std::move(idle_.back());
        idle_.pop_back();
        lock.unlock();
        if (Clock::now() - idle.since > kUnchecked) idle.database->ensure_connected();
        return std::move(idle.database);
    }
    void give_back(std::unique_ptr<Database> database) {
        const std::lock_guard lock{mutex_};
        idle_.push_back({std::move(database), Clock::now()});
    }

    const DatabaseSettings settings_;
    std::counting_semaphore<> turns_{kMaxConnections};
    std::mutex mutex_;
    std::vector<Idle> idle_;
};

}  // namespace dedloc::server
