// The validator's duty for dedloc_train: every job that came home is judged by its receipt and the
// ledger, and earns credit for what the ledger proves. All rows of one job change in one
// transaction, so that a crash at any moment neither loses nor doubles credit: a row of the ledger
// is credited when its resultid is set, and that happens together with the grant.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "validators/boinc_connection.hpp"

namespace dedloc::validation {

struct ValidatorOptions {
    std::string app = "dedloc_train";
    /// A receipt about rounds that the database does not have yet is asked about again for so long.
    std::chrono::seconds timeout = std::chrono::hours{24};
    /// How often to look for rows of the ledger that came after their job had been judged.
    std::chrono::seconds late_rows_every{10};
    /// Told the name of each place between two writes. For tests, which crash there.
    std::function<void(std::string_view place)> passing = [](std::string_view) {};
};

struct PassReport {
    int valid = 0;
    int invalid = 0;
    int waiting = 0;    ///< too soon to tell
    int late = 0;       ///< judged jobs that earned more by rows that came late
    double credit = 0;  ///< granted in this pass
};

/// Thread: one.
class Validator {
  public:
    /// `connection` must outlive the validator.
    Validator(BoincConnection& connection, ValidatorOptions options);
    ~Validator();

    /// Judges everything that waits. Throws BoincError (connection lost, conflict): what had not
    /// been committed then is done by the next pass.
    PassReport pass();

  private:
    class Pass;

    BoincConnection& connection_;
    const ValidatorOptions options_;
    std::chrono::steady_clock::time_point next_late_rows_{};
};

}  // namespace dedloc::validation
