// One transaction of a Creditor: some pending contributions of one key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "project_server/database/states.hpp"
#include "validators/creditor.hpp"

namespace dedloc::validation {

/// Pays or withholds up to `options.batch` pending contributions of one key, oldest steps first.
class CreditBatch {
  public:
    /// Everything must outlive the batch. `key`: 64 hex digits.
    CreditBatch(server::Database& database, const CreditorOptions& options, std::int64_t run,
                const CreditRates& rates, const std::string& key)
        : database_(database), options_(options), run_(run), rates_(rates), key_(key) {}

    /// Commits one batch and adds it to the report. False if no further batch is pending. Errors:
    /// DatabaseError, Error; nothing is changed then, unless the commit failed.
    bool credit(CreditReport& report);

  private:
    /// The job that the key has a ticket for.
    struct Owner {
        std::int64_t result = 0;
        std::int64_t workunit = 0;  ///< 0: the result has been deleted
        std::int64_t host = 0;
        std::int64_t user = 0;
        double sent = 0;  ///< UTC seconds; 0: unknown
    };
    struct Contribution {
        std::uint64_t step = 0;
        std::uint64_t samples = 0;
        std::uint64_t reduced_bytes = 0;
        double committed_at = 0;  ///< UTC seconds; 0: recorded by an earlier version
    };
    /// The earliest revocation of the owner or the key.
    struct Revocation {
        std::string kind;
        std::string subject;
        std::int64_t since = 0;  ///< UTC seconds
    };
    using Contributions = std::vector<Contribution>;
    /// The sum over some contributions.
    struct Work {
        std::uint64_t samples = 0;
        std::uint64_t reduced_bytes = 0;
    };

    /// Credits one batch within the open transaction. False if nothing was pending.
    bool credit_locked(CreditReport& report);
    void write(std::string_view sql, server::Parameters parameters, std::string_view place);
    std::optional<Owner> find_owner();
    /// Locks workunit, result and account, in the order of every transaction of this project.
    void lock(const Owner& owner);
    Contributions lock_contributions();
    std::optional<Revocation> find_revocation(const Owner& owner);
    void pay(const Owner& owner, const Contributions& rows, CreditReport& report);
    void withhold(const Revocation& revocation, const Contributions& rows, CreditReport& report);
    void disown(const Contributions& rows, CreditReport& report);
    static Work sum_of(const Contributions& rows);
    /// Marks the rows; with `paid_to` it also notes that owner's job and each row's credit.
    void set_state(server::CreditState state, const Contributions& rows,
                   const Owner* paid_to = nullptr);

    server::Database& database_;
    const CreditorOptions& options_;
    const std::int64_t run_;
    const CreditRates rates_;
    const std::string& key_;
};

}  // namespace dedloc::validation
