// One connection to the project's MariaDB. Statements are text with a ? for each parameter; the
// client library escapes the parameters. A query returns all its rows at once: no query of this
// project has more than a few thousand rows.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/error.hpp"

namespace dedloc::server {

/// How to connect.
struct DatabaseSettings {
    std::string host = "127.0.0.1";  ///< address of the server
    std::uint16_t port = 0;          ///< TCP port; 0: the client library's default
    std::string
        socket;  ///< path of the server's socket; used instead of host and port unless empty
    std::string user{};      ///< account
    std::string password{};  ///< empty: none
    std::string name{};      ///< database to select; empty: none
};

/// A statement or a connection failed.
class DatabaseError : public Error {
  public:
    DatabaseError(const std::string& sentence, unsigned code) : Error(sentence), code_(code) {}
    /// The error number of the server or of the client library.
    unsigned code() const { return code_; }
    /// The server does not answer: no connection could be made, or it is lost, and then it is
    /// unknown whether the statement was executed.
    bool is_away() const;
    /// The transaction conflicted with another one and was rolled back: repeat it.
    bool is_conflict() const;
    /// A unique key exists already.
    bool is_duplicate() const;

  private:
    unsigned code_;
};

/// One value for a ?. Doubles that are not finite become null.
class Parameter {
  public:
    Parameter(std::nullptr_t) : kind_(Kind::kNull) {}
    template <std::integral T>
    Parameter(T value) : kind_(Kind::kNumber), text_(std::to_string(value)) {}
    Parameter(double value);
    Parameter(std::string_view value) : kind_(Kind::kText), text_(value) {}
    Parameter(const std::string& value) : kind_(Kind::kText), text_(value) {}
    Parameter(const char* value) : kind_(Kind::kText), text_(value) {}

    /// How the value is written into the statement: null, as it is, or escaped in quotes.
    enum class Kind { kNull, kNumber, kText };
    Kind kind() const { return kind_; }
    const std::string& text() const { return text_; }

  private:
    Kind kind_;
    std::string text_;
};
using Parameters = std::initializer_list<Parameter>;

/// One row of an answer, with the names of its columns. To ask for a column that the statement did
/// not select, or for a number where there is text, is a bug (DEDLOC_CHECK). A null reads as 0 or
/// "".
class Row {
  public:
    using Names = std::shared_ptr<const std::vector<std::string>>;
    Row(Names names, std::vector<std::optional<std::string>> values)
        : names_(std::move(names)), values_(std::move(values)) {}

    /// The column's value.
    const std::string& text(std::string_view column) const;
    std::int64_t integer(std::string_view column) const;
    double real(std::string_view column) const;
    bool is_null(std::string_view column) const;

  private:
    const std::optional<std::string>& value(std::string_view column) const;

    Names names_;  ///< shared by all rows of an answer
    std::vector<std::optional<std::string>> values_;
};
using Rows = std::vector<Row>;

/// A connection. Thread: one at a time. Every failure is a DatabaseError.
class Database {
  public:
    /// Connects.
    explicit Database(DatabaseSettings settings);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Runs a select. query_one returns the first row; nothing if there is none.
    Rows query(std::string_view sql, Parameters parameters = {});
    std::optional<Row> query_one(std::string_view sql, Parameters parameters = {});
    /// Runs a statement and returns the number of rows that matched; for an insert, the number
    /// written.
    std::uint64_t execute(std::string_view sql, Parameters parameters = {});
    /// The auto_increment value of the last insert.
    std::int64_t insert_id() const;

    /// Connects again if the connection has been lost. Not inside a transaction.
    void ensure_connected();
    /// The settings as given.
    const DatabaseSettings& settings() const { return settings_; }

  private:
    struct Connection;
    std::string bind(std::string_view sql, Parameters parameters) const;
    void send(std::string_view sql, Parameters parameters);
    [[noreturn]] void fail(std::string_view wanted) const;

    const DatabaseSettings settings_;
    std::unique_ptr<Connection> connection_;
};

/// A transaction that begins at construction and is rolled back unless committed.
class Transaction {
  public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    /// Throws DatabaseError.
    void commit();

  private:
    Database& database_;
    bool open_ = true;
};

/// Runs `work` in a transaction of its own, commits, and returns its result. Tries up to five times
/// if the transaction conflicts with another one.
template <std::invocable Work>
auto in_transaction(Database& database, const Work& work) {
    for (int attempt = 1;; ++attempt) {
        try {
            Transaction transaction{database};
            if constexpr (std::is_void_v<decltype(work())>) {
                work();
                transaction.commit();
                return;
            } else {
                auto result = work();
                transaction.commit();
                return result;
            }
        } catch (const DatabaseError& error) {
            if (!error.is_conflict() || attempt == 5) throw;
        }
    }
}

/// Seconds since 1970, the unit of time in the tables.
double unix_now();

}  // namespace dedloc::server
