// Database connections for the threads that serve requests. A request has a connection of its own
// while it is served.
#pragma once

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
        database->ensure_connected();
        auto result = work(*database);
        give_back(std::move(database));
        return result;
    }

  private:
    std::unique_ptr<Database> take() {
        {
            const std::lock_guard lock{mutex_};
            if (!idle_.empty()) {
                auto database = std::move(idle_.back());
                idle_.pop_back();
                return database;
            }
        }
        return std::make_unique<Database>(settings_);
    }
    void give_back(std::unique_ptr<Database> database) {
        const std::lock_guard lock{mutex_};
        idle_.push_back(std::move(database));
    }

    const DatabaseSettings settings_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Database>> idle_;
};

}  // namespace dedloc::server
