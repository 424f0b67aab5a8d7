// One transaction of a Creditor: some pending contributions of one key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validators/creditor.hpp"

namespace dedloc::validation {

/// Whether the text has letters and digits only, so that it may be inserted into a statement.
bool is_plain_word(const std::string& text);

/// Pays or withholds up to `options.batch` pending contributions of one key, oldest steps first.
class CreditBatch {
  public:
    /// Everything must outlive the batch. `key`: 64 hex digits.
    CreditBatch(BoincConnection& connection, const CreditorOptions& options, std::int64_t run,
                double credit_per_sample, const std::string& key)
        : connection_(connection),
          options_(options),
          run_(run),
          credit_per_sample_(credit_per_sample),
          key_(key) {}

    /// Commits one batch and adds it to the report. False if no further batch is pending. Throws
    /// BoincError; nothing is changed then, unless a commit failed.
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
        double committed_at = 0;  ///< UTC seconds; 0: recorded by an earlier version
    };
    /// The earliest revocation of the owner or the key.
    struct Revocation {
        std::string kind;
        std::string subject;
        double since = 0;
    };
    using Contributions = std::vector<Contribution>;

    void write(const std::string& sql, std::string_view place);
    std::optional<Owner> find_owner();
    /// Locks workunit, result and account, in the order of every transaction of this project.
    void lock(const Owner& owner);
    Contributions lock_contributions();
    std::optional<Revocation> find_revocation(const Owner& owner);
    void pay(const Owner& owner, const Contributions& rows, CreditReport& report);
    void grant(const Owner& owner, double credit);
    void withhold(const Revocation& revocation, const Contributions& rows, CreditReport& report);
    void disown(const Contributions& rows, CreditReport& report);
    void set_state(CreditState state, const Contributions& rows, const std::string& more);

    BoincConnection& connection_;
    const CreditorOptions& options_;
    const std::int64_t run_;
    const double credit_per_sample_;
    const std::string& key_;
};

}  // namespace dedloc::validation
