// Reads the project's revocations from its database.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "project_server/database/revocations.hpp"

namespace dedloc::backbone {

/// Reconnects after an outage. Thread: one.
class RevocationWatch {
  public:
    /// Connects at the first poll().
    explicit RevocationWatch(server::DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// The current list (server::recent_revocations); nothing while the database cannot be reached,
    /// which is logged once. The lists' times never go back, even if the clock does.
    std::optional<formats::Revocations> poll(formats::UtcSeconds now);

  private:
    const server::DatabaseSettings settings_;
    std::unique_ptr<server::Database> database_;
    formats::UtcSeconds latest_{};
    bool is_away_ = false;
};

}  // namespace dedloc::backbone
