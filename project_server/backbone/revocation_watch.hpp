// Whom the project has revoked, as its database says from time to time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "project_server/database/revocations.hpp"

namespace dedloc::backbone {

/// Thread: one.
class RevocationWatch {
  public:
    explicit RevocationWatch(server::DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Those of the last day; nothing while the database is away, which is logged once. No list is
    /// older than the one before, also where the clock was set back.
    std::optional<formats::Revocations> poll(formats::UtcSeconds now);

  private:
    const server::DatabaseSettings settings_;
    std::unique_ptr<server::Database> database_;
    formats::UtcSeconds latest_{};
    bool is_away_ = false;
};

}  // namespace dedloc::backbone
