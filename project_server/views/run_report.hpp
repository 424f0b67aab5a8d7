// Sums of a run's samples and credit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "project_server/database/database.hpp"

namespace dedloc::server {

/// Sums over a run's tables, to check credit and digests, also while the run goes on.
struct RunReport {
    std::uint64_t samples = 0;         ///< sum over all credited contributions
    std::uint64_t reduced_bytes = 0;   ///< sum over all credited contributions
    std::uint64_t uncredited = 0;      ///< contributions that dedloc-credit has not looked at yet
    std::uint64_t withheld = 0;        ///< samples withheld because of revocations
    std::uint64_t withheld_bytes = 0;  ///< reduced bytes withheld because of revocations
    std::uint64_t unowned = 0;         ///< samples of keys without a ticket
    std::uint64_t unowned_bytes = 0;   ///< bytes that they reduced: also the project's backbones
    std::uint64_t open_results = 0;    ///< its jobs in progress, or reported and not validated
    double credit_per_sample = 0;      ///< credit per sample
    double credit_per_gigabyte_reduced = 0;  ///< credit per 10⁹ reduced bytes
    double credit_of_lines = 0;              ///< sum over all contributions
    double credit_of_all_runs = 0;  ///< sum over the contributions to all runs of the project
    double credit_of_users = 0;     ///< sum over all users of the project, also deleted ones
    bool has_other_apps = false;    ///< users also have credit of a server's other apps
    std::vector<std::string> withholdings{};  ///< a sentence for each revocation
    std::uint64_t equal_steps = 0;            ///< steps at which all members had the same digest
    std::uint64_t unsettled_steps = 0;        ///< steps whose digests are not known yet
    /// Credit of all samples and reduced bytes at the run's rates.
    double credit_due() const;
    /// Whether the credit is what is due for the contributions that are credited, and users have
    /// the credit of all runs. Contributions that are pending are no difference. What users have is
    /// not compared if the server has other apps.
    bool credit_agrees() const;
};
/// Reads the report of a run. While the run goes on, only within a transaction do its sums belong
/// together. Errors: InputError when there is no such run.
RunReport run_report(Database& database, const std::string& name, bool has_other_apps = false);

}  // namespace dedloc::server
