// Moves workunits along: makes their results, notices time-outs, calls the validator, gives up.
#pragma once

#include <cstdint>
#include <memory>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::server {

/// Owns libsched's global connection while it lives: one a process.
/// Thread: the one that made it.
class Transitioner {
  public:
    /// Errors: DatabaseError, and IoError or InputError about the upload key.
    explicit Transitioner(const ProjectConfig& config);
    ~Transitioner();
    Transitioner(const Transitioner&) = delete;
    Transitioner& operator=(const Transitioner&) = delete;

    /// Handles every workunit whose time has come and returns how many there were. A workunit whose
    /// results cannot be made (say, its template is gone) is logged and tried again in a minute.
    int pass(std::int64_t now);

  private:
    struct Libsched;
    void handle(std::int64_t workunit, std::int64_t now);

    const ProjectConfig& config_;
    Database database_;
    std::unique_ptr<Libsched> libsched_;
};

}  // namespace dedloc::server
