// One connection to the project's MariaDB. Statements are text with ? where a parameter goes;
// parameters are escaped by the client library, never pasted. Rows come back whole: nothing here is
// asked for more than a few thousand rows.
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

struct DatabaseSettings {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    std::string
        socket;  ///< path of the server's socket; used instead of host and port unless empty
    std::string user{};
    std::string password{};
    std::string name{};  ///< of the database; empty: none selected
};

/// A statement failed. `code` is the server's or the client library's error number.
class DatabaseError : public Error {
  public:
    DatabaseError(const std::string& sentence, unsigned code) : Error(sentence), code_(code) {}
    unsigned code() const { return code_; }
    /// The connection is gone; whether the statement was done is unknown.
    bool lost_connection() const;
    /// The transaction lost against another one and was rolled back: do it again.
    bool is_conflict() const;
    bool is_duplicate() const;

  private:
    unsigned code_;
};

/// One value for a ?.
class Parameter {
  public:
    Parameter(std::nullptr_t) : kind_(Kind::kNull) {}
    template <std::integral T>
    Parameter(T value) : kind_(Kind::kNumber), text_(std::to_string(value)) {}
    Parameter(double value);
    Parameter(std::string_view value) : kind_(Kind::kText), text_(value) {}
    Parameter(const std::string& value) : kind_(Kind::kText), text_(value) {}
    Parameter(const char* value) : kind_(Kind::kText), text_(value) {}

    enum class Kind { kNull, kNumber, kText };
    Kind kind() const { return kind_; }
    const std::string& text() const { return text_; }

  private:
    Kind kind_;
    std::string text_;
};
using Parameters = std::initializer_list<Parameter>;

/// Names of the columns of one answer and their values for one row. Asking for a column that the
/// statement did not select, or for a number where there is text, is a bug. A null reads as 0 or
/// "".
class Row {
  public:
    using Names = std::shared_ptr<const std::vector<std::string>>;
    Row(Names names, std::vector<std::optional<std::string>> values)
        : names_(std::move(names)), values_(std::move(values)) {}

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

/// Thread: one at a time. Every failure is a DatabaseError.
class Database {
  public:
    /// Connects at once.
    explicit Database(DatabaseSettings settings);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    Rows query(std::string_view sql, Parameters parameters = {});
    std::optional<Row> query_one(std::string_view sql, Parameters parameters = {});
    /// Number of rows that matched (of an insert: that were written).
    std::uint64_t execute(std::string_view sql, Parameters parameters = {});
    /// auto_increment value of the last insert.
    std::int64_t insert_id() const;

    /// Connects again if the server went away since. Not inside a transaction.
    void ensure_connected();
    const DatabaseSettings& settings() const { return settings_; }

  private:
    struct Connection;
    std::string bind(std::string_view sql, Parameters parameters) const;
    void send(std::string_view sql, Parameters parameters);
    [[noreturn]] void fail(std::string_view wanted) const;

    const DatabaseSettings settings_;
    std::unique_ptr<Connection> connection_;
};

/// Begins at construction; rolled back unless committed.
class Transaction {
  public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

  private:
    Database& database_;
    bool open_ = true;
};

/// Runs `work` in a transaction of its own and commits; again, up to five times, when it lost
/// against another one.
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

/// Seconds since 1970, as the tables keep them.
double unix_now();

}  // namespace dedloc::server
