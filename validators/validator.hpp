// Validates the jobs of dedloc_train: compares each finished job's receipt with the ledger. A
// verdict changes all rows of one job in one transaction. It grants no credit: creditor.hpp does,
// for what the ledger proves, whatever the verdict is.
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
    /// Called between two writes, with a name of the place. For tests, which crash there.
    std::function<void(std::string_view place)> passing = [](std::string_view) {};
};

/// The result of one pass: numbers of results.
struct PassReport {
    int valid = 0;    ///< accepted in this pass
    int invalid = 0;  ///< refused in this pass
    int waiting = 0;  ///< cannot be judged yet
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
};

}  // namespace dedloc::validation
