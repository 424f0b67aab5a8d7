// Whom the project has revoked, as its database says from time to time.
#pragma once

#include <chrono>
#include <memory>

#include "project_server/database/revocations.hpp"

namespace dedloc::backbone {

/// Thread: one.
class RevocationWatch {
  public:
    explicit RevocationWatch(server::DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Those of the last day; none while the database is away, which is logged once.
    wire::Revocations look(wire::UtcSeconds now);

  private:
    const server::DatabaseSettings settings_;
    std::unique_ptr<server::Database> database_;
    bool is_away_ = false;
};

}  // namespace dedloc::backbone
