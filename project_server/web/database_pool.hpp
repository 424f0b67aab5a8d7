// Database connections for the threads that serve requests. A request has a connection of its own
// while it is served.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Keeps as many connections as there were concurrent requests. Thread: any.
class DatabasePool {
  public:
    explicit DatabasePool(DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Calls work(Database&) with a live connection and returns its result. Drops the connection if
    /// `work` throws. Errors: DatabaseError, and those of `work`.
    template <class Work>
    auto with(const Work& work) {
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
    std::vector<Idle> idle_;
};

}  // namespace dedloc::server
