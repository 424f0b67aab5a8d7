// The parts of Debian's libsched that the validator uses: the project's configuration, its one
// database connection, and transactions on it. BOINC's own headers are included only in sources.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/error.hpp"

namespace dedloc::validation {

/// A libsched call failed: the connection, a statement, or an operation on a row.
class BoincError : public Error {
  public:
    using Error::Error;
};

/// libsched's global connection (boinc_db) to the database that PROJECT/config.xml names. A process
/// may have one at a time.
class BoincConnection {
  public:
    /// Throws InputError (no project there, config.xml cannot be used) or BoincError (cannot
    /// connect).
    explicit BoincConnection(const std::filesystem::path& project);
    ~BoincConnection();
    BoincConnection(const BoincConnection&) = delete;
    BoincConnection& operator=(const BoincConnection&) = delete;

    using Row = std::vector<std::string>;  ///< columns in order; null reads as ""
    /// Runs a statement. Nothing is escaped, so only numbers and hex digits may be inserted into
    /// its text. Throws BoincError.
    std::vector<Row> query(const std::string& sql);
    void execute(const std::string& sql);
};

/// A transaction that begins at construction and is rolled back unless committed.
class BoincTransaction {
  public:
    BoincTransaction();
    ~BoincTransaction();
    BoincTransaction(const BoincTransaction&) = delete;
    BoincTransaction& operator=(const BoincTransaction&) = delete;
    /// Throws BoincError. It is then unknown whether the commit happened: read the rows again.
    void commit();

  private:
    bool is_open_ = true;
};

/// Throws BoincError when a libsched call answers anything but 0.
void require_ok(int status, std::string_view wanted);

}  // namespace dedloc::validation
