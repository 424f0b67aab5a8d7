// Database connections shared by the threads that serve requests: each has one to itself for the
// time of a request.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Grows to as many connections as there were requests at once. Thread: any.
class DatabasePool {
  public:
    explicit DatabasePool(DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Calls work(Database&) with a live connection. A connection that was lost meanwhile is
    /// dropped.
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
