// Applies transitions to workunits: creates results, ends those that have timed out, marks
// workunits for the validator or as failed.
#pragma once

#include <cstdint>
#include <memory>

#include "project_server/database/database.hpp"
#include "project_server/database/project_config.hpp"

namespace dedloc::server {

/// BOINC's transitioner. Uses libsched's global connection, so only one may exist in a process.
/// Thread: the one that made it.
class Transitioner {
  public:
    /// Errors: DatabaseError; IoError or InputError if the upload key cannot be read.
    explicit Transitioner(const ProjectConfig& config);
    ~Transitioner();
    Transitioner(const Transitioner&) = delete;
    Transitioner& operator=(const Transitioner&) = delete;

    /// Handles workunits whose transition time has passed, at most 200, and returns their number.
    /// If the results of a workunit cannot be created (say, its template is missing), logs the
    /// reason and retries a minute later. Errors: DatabaseError.
    int pass(std::int64_t now);

  private:
    struct Libsched;
    void handle(std::int64_t workunit, std::int64_t now);

    const ProjectConfig& config_;
    Database database_;
    std::unique_ptr<Libsched> libsched_;
};

}  // namespace dedloc::server
