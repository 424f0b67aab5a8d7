// Grants credit for the samples and the reduced bytes that the ledger proves, while jobs run and
// after their end, whatever their end was. A contribution belongs to the job whose ticket its key
// has (dedloc_ticket). Its row, the result, host, user and team change in one transaction, so a
// crash at any moment neither loses nor doubles credit. Contributions after the moment of a
// revocation are withheld.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "project_server/database/database.hpp"
#include "validators/grants.hpp"

namespace dedloc::validation {

/// The published rates of a run.
struct CreditRates {
    double of_sample = 0;        ///< dedloc_run.credit_per_sample
    double of_reduced_byte = 0;  ///< dedloc_run.credit_per_gigabyte_reduced / 10⁹
};

/// Settings of a Creditor.
struct CreditorOptions {
    /// Contributions in one transaction; its locks last for some milliseconds.
    int batch = 1'000;
    /// Asked between two transactions; true ends the pass early.
    std::function<bool()> must_stop = [] { return false; };
    /// Also keep BOINC's credit for each app: ProjectConfig::credit_by_app.
    bool credit_by_app = false;
    /// Called after each statement that writes.
    Passing passing = [](std::string_view) {};
};

/// The result of one pass.
struct CreditReport {
    std::uint64_t contributions = 0;  ///< credited
    std::uint64_t withheld = 0;       ///< contributions withheld
    std::uint64_t unowned = 0;        ///< contributions without an owner
    int seats = 0;                    ///< keys that got credit
    double credit = 0;                ///< granted
};

/// Credits the pending contributions of all runs. Thread: one.
class Creditor {
  public:
    /// `database` must outlive the creditor.
    Creditor(server::Database& database, CreditorOptions options);

    /// Credits everything that is pending. Throws DatabaseError when the connection is lost; a key
    /// that fails is logged and left to the next pass.
    /// Cost: one index lookup per run, and about twelve statements per key with pending rows.
    CreditReport pass();

    /// Takes the messages (trickle-ups) of jobs that ask for their credit, marks them as handled,
    /// and credits the contributions of these jobs. What a message says counts for nothing.
    /// Throws DatabaseError as pass() does. Cost: one index lookup, and for each job that asks
    /// about five statements; at most 100 messages.
    CreditReport heed_messages();

  private:
    void reconsider_withheld();
    /// Credits one key's pending rows, a batch at a time.
    void credit_key(std::int64_t run, const CreditRates& rates, const std::string& key,
                    CreditReport& report);

    server::Database& database_;
    const CreditorOptions options_;
};

}  // namespace dedloc::validation
