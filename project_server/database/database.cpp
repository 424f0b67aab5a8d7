// run() makes one message of all statements: first new preparations at the server, then the
// deferred statements, then the others; the answers come back in that order, and the first failure
// ends the reading. A transaction only defers its beginning, so that costs no message, and one that
// has sent nothing is rolled back by forgetting it. execute_and_commit() wraps the deferred
// statements and its own in a compound statement, which commits at the server if a row matched.
#include "project_server/database/database.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mysql.h>
#include <mysqld_error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/text.hpp"
#include "peer/base/units.hpp"
#include "project_server/database/connection.hpp"
#include "project_server/database/prepared_statements.hpp"
#include "project_server/database/statement_errors.hpp"

namespace dedloc::server {
namespace {

constexpr unsigned kNoSocket = 2002;    // CR_CONNECTION_ERROR
constexpr unsigned kNoServer = 2003;    // CR_CONN_HOST_ERROR
constexpr unsigned kServerGone = 2006;  // CR_SERVER_GONE_ERROR
constexpr unsigned kServerLost = 2013;  // CR_SERVER_LOST
constexpr unsigned kNoTls = 2026;       // CR_SSL_CONNECTION_ERROR
constexpr const char* kBegin = "start transaction";

struct FreeAnswer {
    void operator()(MYSQL_RES* answer) const { mysql_free_result(answer); }
};
using Answer = std::unique_ptr<MYSQL_RES, FreeAnswer>;

struct CloseConnection {
    void operator()(MYSQL* handle) const { mysql_close(handle); }
};
using Handle = std::unique_ptr<MYSQL, CloseConnection>;

Rows rows_of(MYSQL_RES* answer) {
    const unsigned columns = mysql_num_fields(answer);
    std::vector<std::string> names;
    const MYSQL_FIELD* const fields = mysql_fetch_fields(answer);
    for (unsigned i = 0; i < columns; ++i) names.emplace_back(fields[i].name);
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(names));
    Rows rows;
    rows.reserve(mysql_num_rows(answer));
    while (const MYSQL_ROW raw = mysql_fetch_row(answer)) {
        const unsigned long* const lengths = mysql_fetch_lengths(answer);
        std::vector<std::optional<std::string>> values(columns);
        for (unsigned i = 0; i < columns; ++i) {
            if (raw[i] != nullptr) values[i].emplace(raw[i], lengths[i]);
        }
        rows.emplace_back(shared, std::move(values));
    }
    return rows;
}

/// The statement with its parameters in it.
std::string filled(const std::string& sql, const std::vector<std::string>& values) {
    std::string text;
    auto next = values.begin();
    for (const char c : sql) {
        if (c == '?') {
            text += *next++;
        } else {
            text += c;
        }
    }
    return text;
}

std::string execution(std::size_t slot, const std::vector<std::string>& values) {
    return fmt::format("execute d{}{}{}", slot, values.empty() ? "" : " using ",
                       fmt::join(values, ","));
}

/// The longest message that the server takes; it closes a connection that sends a longer one.
std::size_t read_max_message(MYSQL* handle) {
    constexpr const char* kAsk = "select @@max_allowed_packet as bytes";
    if (mysql_query(handle, kAsk) != 0) throw_statement_error(handle, kAsk);
    const Answer answer{mysql_store_result(handle)};
    if (!answer) throw_statement_error(handle, kAsk);
    return static_cast<std::size_t>(rows_of(answer.get()).at(0).integer("bytes"));
}

}  // namespace

struct Database::Connection {
    explicit Connection(Handle its) : owned(std::move(its)) {}
    const Handle owned;
    MYSQL* const handle = owned.get();
    const std::size_t max_message = read_max_message(handle);
    PreparedStatements prepared;
};

bool DatabaseError::is_away() const {
    return code_ == kNoSocket || code_ == kNoServer || code_ == kNoTls || code_ == kServerGone ||
           code_ == kServerLost || code_ == ER_SERVER_SHUTDOWN || code_ == ER_CONNECTION_KILLED;
}

bool DatabaseError::is_conflict() const {
    return code_ == ER_LOCK_DEADLOCK || code_ == ER_LOCK_WAIT_TIMEOUT;
}

bool DatabaseError::is_duplicate() const {
    return code_ == ER_DUP_ENTRY;
}

std::string RefusedData::answer() const {
    if (column_.empty()) return "The project cannot store a value of this request.";
    return fmt::format("The project cannot store a value of this request ({}).", column_);
}

Parameter::Parameter(double value) : kind_(Kind::kNumber), text_(fmt::format("{:.17g}", value)) {
    // SQL has no literals for infinity and NaN.
    if (!std::isfinite(value)) kind_ = Kind::kNull;
}

const std::optional<std::string>& Row::value(std::string_view column) const {
    for (std::size_t i = 0; i < names_->size(); ++i) {
        if ((*names_)[i] == column) return values_[i];
    }
    DEDLOC_CHECK(false, "the statement selected no such column", column);
    return values_.front();
}

const std::string& Row::text(std::string_view column) const {
    static const std::string empty;
    const auto& found = value(column);
    return found ? *found : empty;
}

std::int64_t Row::integer(std::string_view column) const {
    const std::string& digits = text(column);
    if (digits.empty()) return 0;
    const auto number = parse_number<std::int64_t>(digits);
    DEDLOC_CHECK(number.has_value(), "the column holds no integer", column, digits);
    return *number;
}

double Row::real(std::string_view column) const {
    const std::string& digits = text(column);
    if (digits.empty()) return 0;
    const auto number = parse_number<double>(digits);
    DEDLOC_CHECK(number.has_value(), "the column holds no number", column, digits);
    return *number;
}

bool Row::is_null(std::string_view column) const {
    return !value(column).has_value();
}

Database::Database(DatabaseSettings settings) : settings_(std::move(settings)) {
    ensure_connected();
}

Database::~Database() = default;

void Database::ensure_connected() {
    if (connection_ && mysql_ping(connection_->handle) == 0) return;
    connection_.reset();
    connection_ = std::make_unique<Connection>(Handle{open_connection(settings_)});
}

std::string Database::quoted(std::string_view text) const {
    std::string escaped(2 * text.size() + 1, '\0');
    escaped.resize(
        mysql_real_escape_string(connection_->handle, escaped.data(), text.data(), text.size()));
    return '\'' + escaped + '\'';
}

Database::Statement Database::bind(std::string_view sql, Parameters parameters) const {
    require_connection();
    DEDLOC_CHECK(static_cast<std::size_t>(std::ranges::count(sql, '?')) == parameters.size(),
                 "a statement has as many ? as parameters", sql);
    Statement statement{.sql = std::string{sql}, .values = {}};
    for (const Parameter& parameter : parameters) {
        switch (parameter.kind()) {
            case Parameter::Kind::kNull:
                statement.values.emplace_back("null");
                break;
            case Parameter::Kind::kNumber:
                statement.values.push_back(parameter.text());
                break;
            case Parameter::Kind::kText:
                statement.values.push_back(quoted(parameter.text()));
                break;
        }
    }
    return statement;
}

void Database::require_connection() const {
    if (connection_) return;
    throw DatabaseError{"The connection to the database at " + database_address(settings_) +
                            " is lost and was not restored",
                        kServerGone};
}

void Database::require_size(std::size_t bytes, std::string_view sql) const {
    if (bytes < connection_->max_message) return;
    throw RefusedData{
        fmt::format("\"{}\" has {} bytes, and the database's max_allowed_packet is {}",
                    sql.substr(0, 120), bytes, connection_->max_message),
        ""};
}

Outcome Database::read_outcome(std::string_view sql) {
    MYSQL* const handle = connection_->handle;
    const Answer answer{mysql_store_result(handle)};
    if (!answer && mysql_field_count(handle) > 0) throw_statement_error(handle, sql);
    if (const auto id = mysql_insert_id(handle); id != 0) {
        insert_id_ = static_cast<std::int64_t>(id);
    }
    if (!answer) return {.rows = {}, .matched = mysql_affected_rows(handle)};
    return {.rows = rows_of(answer.get())};
}

std::vector<Outcome> Database::run(const std::vector<Statement>& statements) {
    require_connection();
    DEDLOC_CHECK(!is_committed_, "a statement behind the commit", statements.front().sql);
    MYSQL* const handle = connection_->handle;
    PreparedStatements& prepared = connection_->prepared;
    prepared.begin_message();
    const std::vector<Statement> deferred = std::exchange(deferred_, {});
    std::vector<std::string> parts;
    std::vector<std::pair<std::size_t, const Statement*>> preparations;  // each with its slot
    for (const auto* const list : {&deferred, &statements}) {
        for (const Statement& statement : *list) {
            const auto use = prepared.use(statement.sql);
            if (use && use->is_new) preparations.emplace_back(use->slot, &statement);
            parts.push_back(use ? execution(use->slot, statement.values)
                                : filled(statement.sql, statement.values));
        }
    }
    // First, because a statement may depend on the row count of the one before.
    std::string message;
    for (const auto& [slot, statement] : preparations) {
        message += fmt::format("prepare d{} from {};", slot, quoted(statement->sql));
    }
    message += fmt::format("{}", fmt::join(parts, ";"));
    require_size(message.size(), statements.back().sql);
    bool is_sent = false;
    const auto answer_to = [&](const Statement& statement) {
        const int failure = std::exchange(is_sent, true)
                                ? mysql_next_result(handle)
                                : mysql_real_query(handle, message.data(), message.size());
        if (failure != 0) throw_statement_error(handle, statement.sql);
        return read_outcome(statement.sql);
    };
    for (const auto& [slot, statement] : preparations) {
        answer_to(*statement);
        prepared.confirm(slot);
    }
    for (const Statement& statement : deferred) answer_to(statement);
    std::vector<Outcome> outcomes;
    for (const Statement& statement : statements) {
        outcomes.push_back(answer_to(statement));
        if (statement.is_compound) answer_to(statement);  // its end
    }
    DEDLOC_CHECK(!mysql_more_results(handle), "the text of a statement is more than one",
                 statements.back().sql);
    return outcomes;
}

Rows Database::query(std::string_view sql, Parameters parameters) {
    return std::move(run({bind(sql, parameters)}).front().rows);
}

std::optional<Row> Database::query_one(std::string_view sql, Parameters parameters) {
    Rows rows = query(sql, parameters);
    if (rows.empty()) return std::nullopt;
    return std::move(rows.front());
}

std::uint64_t Database::execute(std::string_view sql, Parameters parameters) {
    return run({bind(sql, parameters)}).front().matched;
}

std::uint64_t Database::execute_and_commit(std::string_view sql, Parameters parameters) {
    DEDLOC_CHECK(is_in_transaction_, "a commit outside a transaction", sql);
    // The server answers each statement of a message by itself, and each answer wakes this thread;
    // a compound statement has two answers, however many statements are in it.
    Statement all{.sql = "begin not atomic declare dedloc_matched bigint; ",
                  .values = {},
                  .is_compound = true};
    deferred_.push_back(bind(sql, parameters));
    for (Statement& statement : std::exchange(deferred_, {})) {
        all.sql += statement.sql + "; ";
        std::ranges::move(statement.values, std::back_inserter(all.values));
    }
    all.sql +=
        "set dedloc_matched = row_count(); if dedloc_matched > 0 then commit; end if; "
        "select dedloc_matched; end";
    const auto matched = run({all}).front().rows.at(0).integer("dedloc_matched");
    is_committed_ = matched > 0;
    return static_cast<std::uint64_t>(matched);
}

void Database::defer(std::string_view sql, Parameters parameters) {
    DEDLOC_CHECK(is_in_transaction_, "a statement is deferred outside a transaction", sql);
    deferred_.push_back(bind(sql, parameters));
}

void Batch::add(std::string_view sql, Parameters parameters) {
    statements_.push_back(database_.bind(sql, parameters));
}

std::vector<Outcome> Batch::run() {
    if (statements_.empty()) return {};
    return database_.run(std::exchange(statements_, {}));
}

Transaction::Transaction(Database& database) : database_(database) {
    DEDLOC_CHECK(!database_.is_in_transaction_, "transactions do not nest");
    database_.require_connection();
    database_.is_in_transaction_ = true;
    database_.defer(kBegin);
}

Transaction::~Transaction() {
    if (!open_) return;
    database_.is_in_transaction_ = false;
    if (std::exchange(database_.is_committed_, false)) return;
    // A server that has not been sent the beginning knows of no transaction.
    const auto deferred = std::exchange(database_.deferred_, {});
    if (!deferred.empty() && deferred.front().sql == kBegin) return;
    try {
        database_.execute("rollback");
    } catch (const DatabaseError&) {
        // The connection is lost, and the server rolls the transaction back.
    }
}

void Transaction::commit() {
    if (!std::exchange(database_.is_committed_, false)) database_.execute("commit");
    database_.is_in_transaction_ = false;
    open_ = false;
}

double unix_now() {
    return seconds_of(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace dedloc::server
