// Database connections for the threads that serve requests. A request has a connection of its own
// while it is served.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Has as many connections as there were concurrent requests, at most kMaxConnections: the database
/// server refuses more than a hundred of all programs, more at a time only wait for each other
/// there, and each has prepared statements of its own. Thread: any.
class DatabasePool {
  public:
    /// Connections in use at a time.
    static constexpr std::size_t kMaxConnections = 8;
    /// How long a request waits for a connection that others use.
    static constexpr std::chrono::seconds kMaxWait{20};

    explicit DatabasePool(DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Calls work(Database&) with a live connection and returns its result. Drops the connection if
    /// `work` throws, except RefusedData. `work` must not call with(). Errors: DatabaseError, also
    /// if no connection is free within kMaxWait, and those of `work`.
    template <class Work>
    auto with(const Work& work) {
        const Turn turn{*this};
        std::unique_ptr<Database> database = take();
        try {
            auto result = work(*database);
            give_back(std::move(database));
            return result;
        } catch (const RefusedData&) {
            give_back(std::move(database));
            throw;
        }
    }

    /// Requests that wait for a connection now.
    std::size_t waiting() {
        const std::lock_guard lock{mutex_};
        return waiting_.size();
    }

  private:
    using Clock = std::chrono::steady_clock;
    struct Idle {
        std::unique_ptr<Database> database;
        Clock::time_point since;
    };
    /// A connection that has served a request a moment ago is live: to ask it costs a round trip.
    static constexpr std::chrono::seconds kUnchecked{1};

    /// A request that waits for one of the kMaxConnections. The members are guarded by mutex_.
    struct Waiter {
        std::condition_variable has_turn;
        bool is_next = false;
    };

    /// One of the kMaxConnections that may be in use. Requests get them in the order in which they
    /// came: a request that finished must not take the place of one that waits.
    class Turn {
      public:
        explicit Turn(DatabasePool& pool) : pool_(pool) {
            std::unique_lock lock{pool_.mutex_};
            if (pool_.in_use_ < kMaxConnections) {
                ++pool_.in_use_;
                return;
            }
            Waiter self;
            const auto place = pool_.waiting_.insert(pool_.waiting_.end(), &self);
            if (self.has_turn.wait_for(lock, kMaxWait, [&] { return self.is_next; })) return;
            pool_.waiting_.erase(place);
            throw DatabaseError{"All connections to the database are in use", 0};
        }
        ~Turn() {
            const std::lock_guard lock{pool_.mutex_};
            if (pool_.waiting_.empty()) {
                --pool_.in_use_;
                return;
            }
            // The turn is handed on, so no request that comes now can take it.
            Waiter& next = *pool_.waiting_.front();
            pool_.waiting_.pop_front();
            next.is_next = true;
            next.has_turn.notify_one();
        }
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
    std::mutex mutex_;
    std::size_t in_use_ = 0;      ///< turns; all of them while a request waits
    std::list<Waiter*> waiting_;  ///< in the order of their arrival
    std::vector<Idle> idle_;
};

}  // namespace dedloc::server
