// What the validator needs of Debian's libsched: the project's configuration, its one database
// connection, and transactions on it. BOINC's own headers stay in the sources.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/error.hpp"

namespace dedloc::validation {

/// A statement or a connection failed, or a row of BOINC is not as its schema has it.
class BoincError : public Error {
  public:
    using Error::Error;
};

/// libsched's global connection (boinc_db) to the database that PROJECT/config.xml names. One at a
/// time in a process.
class BoincConnection {
  public:
    /// Throws InputError (no project there, config.xml cannot be used) or BoincError (cannot
    /// connect).
    explicit BoincConnection(const std::filesystem::path& project);
    ~BoincConnection();
    BoincConnection(const BoincConnection&) = delete;
    BoincConnection& operator=(const BoincConnection&) = delete;

    using Row = std::vector<std::string>;  ///< columns in order; null reads as ""
    /// Statements here are made of numbers and hex digits only: there is nothing to escape. Throws
    /// BoincError.
    std::vector<Row> query(const std::string& sql);
    void execute(const std::string& sql);
};

/// Begins at construction; rolled back unless committed.
class BoincTransaction {
  public:
    BoincTransaction();
    ~BoincTransaction();
    BoincTransaction(const BoincTransaction&) = delete;
    BoincTransaction& operator=(const BoincTransaction&) = delete;
    /// Throws BoincError; whether it was done is then unknown, so whatever follows must ask the
    /// rows.
    void commit();

  private:
    bool is_open_ = true;
};

/// Throws BoincError when a libsched call answers anything but 0.
void require_ok(int status, std::string_view wanted);

}  // namespace dedloc::validation
