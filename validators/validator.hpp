// Validates the jobs of dedloc_train: compares each finished job's receipt with the ledger, and
// grants credit for the samples that the ledger proves. All rows of one job change in one
// transaction, so a crash at any moment neither loses nor doubles credit: a row of the ledger
// counts as credited when its resultid is set, and that happens together with the grant.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "validators/boinc_connection.hpp"

namespace dedloc::validation {

/// Settings of a Validator.
struct ValidatorOptions {
    std::string app = "dedloc_train";  ///< BOINC's name of the app whose jobs are judged
    /// How long after its upload a receipt may wait for rounds that the database does not have yet.
    std::chrono::seconds timeout = std::chrono::hours{24};
    /// How often to look for rows of the ledger that arrived after their job was judged.
    std::chrono::seconds late_rows_every{10};
    /// Called between two writes, with a name of the place. For tests, which crash there.
    std::function<void(std::string_view place)> passing = [](std::string_view) {};
};

/// The result of one pass: numbers of results, and credit.
struct PassReport {
    int valid = 0;      ///< accepted in this pass
    int invalid = 0;    ///< refused in this pass
    int waiting = 0;    ///< cannot be judged yet
    int late = 0;       ///< judged earlier, and credited now for late rows
    double credit = 0;  ///< granted in this pass
};

/// Judges the jobs of one app. Thread: one.
class Validator {
  public:
    /// `connection` must outlive the validator.
    Validator(BoincConnection& connection, ValidatorOptions options);
    ~Validator();

    /// Judges all waiting jobs. Throws BoincError (connection lost, conflict); the next pass then
    /// repeats the work that was not committed.
    PassReport pass();

  private:
    class Pass;

    BoincConnection& connection_;
    const ValidatorOptions options_;
    std::chrono::steady_clock::time_point next_late_rows_{};
};

}  // namespace dedloc::validation
