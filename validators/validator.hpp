// Validates jobs of both apps: compares each finished job's receipt with the ledger. A
// verdict changes all rows of one job in one transaction. It grants no credit: creditor.hpp does,
// for what the ledger proves, whatever the verdict is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "project_server/database/project_config.hpp"
#include "validators/verdict.hpp"

namespace dedloc::validation {

/// A receipt that was refused for what its bytes say: evidence, signed by the peer.
struct RefusedReceipt {
    std::int64_t run = 0;                ///< dedloc_run.id
    std::int64_t user = 0;               ///< BOINC's id
    std::int64_t host = 0;               ///< BOINC's id
    std::string result_name{};           ///< the job's result
    Refusal refusal{};                   ///< the fault
    std::span<const std::byte> bytes{};  ///< the file
};

/// Settings of a Validator.
struct ValidatorOptions {
    /// How long after its upload a receipt may wait for rounds that the database does not have yet.
    std::chrono::seconds timeout = std::chrono::hours{24};
    /// Called between two writes, with a name of the place. For tests, which crash there.
    std::function<void(std::string_view place)> passing = [](std::string_view) {};
    /// Called for each receipt that is refused for its contents, before the verdict is committed:
    /// after a crash it may be called again for the same one.
    std::function<void(const RefusedReceipt&)> suspect = [](const RefusedReceipt&) {};
};

/// The result of one pass: numbers of results.
struct PassReport {
    int valid = 0;    ///< accepted in this pass
    int invalid = 0;  ///< refused in this pass
    int waiting = 0;  ///< cannot be judged yet
};

/// Judges the jobs of a project. Thread: one.
class Validator {
  public:
    /// All but the options must outlive the validator.
    Validator(server::Database& database, const server::ProjectConfig& project,
              ValidatorOptions options);
    ~Validator();

    /// Judges all waiting jobs. Throws DatabaseError when the connection is lost; a job that cannot
    /// be judged is logged and left to the next pass.
    PassReport pass();

  private:
    class Pass;

    server::Database& database_;
    const server::ProjectConfig& project_;
    const ValidatorOptions options_;
};

}  // namespace dedloc::validation
