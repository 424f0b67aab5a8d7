// One connection to the project's MariaDB. Statements are text with a ? for each parameter; the
// client library escapes the parameters. What a connection repeats is prepared at the server
// (prepared_statements.hpp). A query returns all its rows at once: no query of this
// project has more than a few thousand rows.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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
    /// PEM file of the authority that must have signed the server's certificate, whose name must be
    /// that of the host; empty: no TLS. Not with a socket.
    std::string ssl_ca{};
    std::string ssl_cert{};  ///< PEM file of this client's certificate; empty: none
    std::string ssl_key{};   ///< PEM file of its key; empty exactly if ssl_cert is
};

/// A statement or a connection failed. Never because of a value in the statement: see RefusedData.
class DatabaseError : public Error {
  public:
    DatabaseError(const std::string& sentence, unsigned code) : Error(sentence), code_(code) {}
    /// The error number of the server or of the client library.
    unsigned code() const { return code_; }
    /// The server does not answer or does not prove who it is: no connection could be made, or it
    /// is lost, and then it is unknown whether the statement was executed.
    bool is_away() const;
    /// The transaction conflicted with another one and was rolled back: repeat it.
    bool is_conflict() const;
    /// A unique key exists already.
    bool is_duplicate() const;

  private:
    unsigned code_;
};

/// The server refuses a statement for a value in it: too long, out of range, null, not in the
/// column's character set or not of its kind. Nothing was changed, and repeating it is useless. Not
/// a DatabaseError, because the database is well: a server answers the client that sent the value,
/// and a loop goes on with the next row. The message is for the log.
class RefusedData : public Error {
  public:
    RefusedData(const std::string& sentence, std::string column)
        : Error(sentence), column_(std::move(column)) {}
    /// The column that cannot hold the value; empty: the server names none.
    const std::string& column() const { return column_; }
    /// The sentence for the client.
    std::string answer() const;

  private:
    std::string column_;
};

/// A type whose values are states.
template <class T>
concept Enumeration = std::is_enum_v<T>;

/// One value for a ?. Doubles that are not finite become null.
class Parameter {
  public:
    Parameter(std::nullptr_t) : kind_(Kind::kNull) {}
    template <std::integral T>
    Parameter(T value) : kind_(Kind::kNumber), text_(std::to_string(value)) {}
    /// A state (states.hpp), as its number.
    template <Enumeration T>
    Parameter(T value) : Parameter(static_cast<std::underlying_type_t<T>>(value)) {}
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

/// What the server answers to a statement.
struct Outcome {
    Rows rows{};                ///< those that a select returns
    std::uint64_t matched = 0;  ///< rows that another statement matched, or inserted
};

/// A connection. Thread: one at a time. Every failure is a DatabaseError, or RefusedData, after
/// which the connection can be used.
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
    /// Runs a statement before the next one, in the same message, so it costs no round trip of its
    /// own. If it fails, the next one fails with its error and is not executed. Only inside a
    /// transaction, whose commit is such a next statement.
    void defer(std::string_view sql, Parameters parameters = {});
    /// Runs a statement that is the last one of the transaction if it matches or inserts a row:
    /// then the transaction is committed in the same message, and commits no more. Returns as
    /// execute() does; after 0 the transaction goes on.
    std::uint64_t execute_and_commit(std::string_view sql, Parameters parameters = {});
    /// The last auto_increment value that an insert has made.
    std::int64_t insert_id() const { return insert_id_; }

    /// Connects again if the connection has been lost. Not inside a transaction.
    void ensure_connected();
    /// The settings as given.
    const DatabaseSettings& settings() const { return settings_; }

  private:
    friend class Batch;
    friend class Transaction;
    struct Connection;
    /// A statement as it was written, and its parameters as SQL.
    struct Statement {
        std::string sql;
        std::vector<std::string> values;
        bool is_compound = false;  ///< has one select, so there are two answers
    };
    Statement bind(std::string_view sql, Parameters parameters) const;
    std::string quoted(std::string_view text) const;
    std::vector<Outcome> run(const std::vector<Statement>& statements);
    Outcome read_outcome(std::string_view sql);
    void require_connection() const;
    void require_size(std::size_t bytes, std::string_view sql) const;

    const DatabaseSettings settings_;
    std::unique_ptr<Connection> connection_;
    bool is_in_transaction_ = false;
    bool is_committed_ = false;  ///< the present transaction, by execute_and_commit()
    std::int64_t insert_id_ = 0;
    std::vector<Statement> deferred_;
};

/// Several statements that go to the server in one message and are answered in one: one round trip.
/// They are executed in order; after one that fails, the later ones are not executed.
class Batch {
  public:
    explicit Batch(Database& database) : database_(database) {}

    /// Adds a statement.
    void add(std::string_view sql, Parameters parameters = {});
    /// Runs them all and empties the batch. Errors: DatabaseError of the first that fails.
    std::vector<Outcome> run();

  private:
    Database& database_;
    std::vector<Database::Statement> statements_;
};

/// A transaction that is rolled back unless committed, here or by Database::execute_and_commit().
/// It begins with the first statement after construction, in the message of that statement.
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
