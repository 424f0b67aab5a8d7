#include "project_server/database/database.hpp"

#include <fmt/format.h>
#include <mysql.h>
#include <mysqld_error.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::server {
namespace {

constexpr unsigned kNoSocket = 2002;    // CR_CONNECTION_ERROR
constexpr unsigned kNoServer = 2003;    // CR_CONN_HOST_ERROR
constexpr unsigned kServerGone = 2006;  // CR_SERVER_GONE_ERROR
constexpr unsigned kServerLost = 2013;  // CR_SERVER_LOST
constexpr unsigned kConnectSeconds = 10;

struct FreeAnswer {
    void operator()(MYSQL_RES* answer) const { mysql_free_result(answer); }
};
using Answer = std::unique_ptr<MYSQL_RES, FreeAnswer>;

std::string address_of(const DatabaseSettings& settings) {
    if (!settings.socket.empty()) return settings.socket;
    return fmt::format("{}:{}", settings.host, settings.port);
}

}  // namespace

struct Database::Connection {
    Connection() : handle(mysql_init(nullptr)) {}
    ~Connection() { mysql_close(handle); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    MYSQL* handle;
};

bool DatabaseError::is_away() const {
    return code_ == kNoSocket || code_ == kNoServer || code_ == kServerGone ||
           code_ == kServerLost || code_ == ER_SERVER_SHUTDOWN || code_ == ER_CONNECTION_KILLED;
}

bool DatabaseError::is_conflict() const {
    return code_ == ER_LOCK_DEADLOCK || code_ == ER_LOCK_WAIT_TIMEOUT;
}

bool DatabaseError::is_duplicate() const {
    return code_ == ER_DUP_ENTRY;
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
    std::int64_t number = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    DEDLOC_CHECK(failure == std::errc{} && end == digits.data() + digits.size(),
                 "the column holds no integer", column, digits);
    return number;
}

double Row::real(std::string_view column) const {
    const std::string& digits = text(column);
    if (digits.empty()) return 0;
    double number = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    DEDLOC_CHECK(failure == std::errc{} && end == digits.data() + digits.size(),
                 "the column holds no number", column, digits);
    return number;
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
    connection_ = std::make_unique<Connection>();
    MYSQL* const handle = connection_->handle;
    mysql_options(handle, MYSQL_OPT_CONNECT_TIMEOUT, &kConnectSeconds);
    mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    const bool by_socket = !settings_.socket.empty();
    if (mysql_real_connect(handle, by_socket ? nullptr : settings_.host.c_str(),
                           settings_.user.c_str(), settings_.password.c_str(),
                           settings_.name.empty() ? nullptr : settings_.name.c_str(),
                           settings_.port, by_socket ? settings_.socket.c_str() : nullptr,
                           CLIENT_FOUND_ROWS) == nullptr) {
        const DatabaseError error{
            fmt::format("Cannot connect to the database at {} as {}: {}", address_of(settings_),
                        settings_.user, mysql_error(handle)),
            mysql_errno(handle)};
        connection_.reset();
        throw error;
    }
    // Read committed takes no gap locks, with which a dispatch would block the creation of jobs.
    execute("set session transaction isolation level read committed");
}

void Database::fail(std::string_view wanted) const {
    MYSQL* const handle = connection_->handle;
    throw DatabaseError{
        fmt::format("The database refused \"{}\": {}", wanted.substr(0, 120), mysql_error(handle)),
        mysql_errno(handle)};
}

std::string Database::bind(std::string_view sql, Parameters parameters) const {
    std::string text;
    const Parameter* next = parameters.begin();
    for (const char c : sql) {
        if (c != '?') {
            text += c;
            continue;
        }
        DEDLOC_CHECK(next != parameters.end(), "more ? than parameters", sql);
        if (next->kind() == Parameter::Kind::kNull) {
            text += "null";
        } else if (next->kind() == Parameter::Kind::kNumber) {
            text += next->text();
        } else {
            std::string escaped(2 * next->text().size() + 1, '\0');
            escaped.resize(mysql_real_escape_string(connection_->handle, escaped.data(),
                                                    next->text().data(), next->text().size()));
            text += '\'' + escaped + '\'';
        }
        ++next;
    }
    DEDLOC_CHECK(next == parameters.end(), "more parameters than ?", sql);
    return text;
}

void Database::send(std::string_view sql, Parameters parameters) {
    if (!connection_) {
        throw DatabaseError{"The connection to the database at " + address_of(settings_) +
                                " is lost and was not restored",
                            kServerGone};
    }
    const std::string text = bind(sql, parameters);
    if (mysql_real_query(connection_->handle, text.data(), text.size()) != 0) fail(sql);
}

Rows Database::query(std::string_view sql, Parameters parameters) {
    send(sql, parameters);
    const Answer answer{mysql_store_result(connection_->handle)};
    if (!answer) fail(sql);
    const unsigned columns = mysql_num_fields(answer.get());
    std::vector<std::string> names;
    const MYSQL_FIELD* const fields = mysql_fetch_fields(answer.get());
    for (unsigned i = 0; i < columns; ++i) names.emplace_back(fields[i].name);
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(names));
    Rows rows;
    rows.reserve(mysql_num_rows(answer.get()));
    while (const MYSQL_ROW raw = mysql_fetch_row(answer.get())) {
        const unsigned long* const lengths = mysql_fetch_lengths(answer.get());
        std::vector<std::optional<std::string>> values(columns);
        for (unsigned i = 0; i < columns; ++i) {
            if (raw[i] != nullptr) values[i].emplace(raw[i], lengths[i]);
        }
        rows.emplace_back(shared, std::move(values));
    }
    return rows;
}

std::optional<Row> Database::query_one(std::string_view sql, Parameters parameters) {
    Rows rows = query(sql, parameters);
    if (rows.empty()) return std::nullopt;
    return std::move(rows.front());
}

std::uint64_t Database::execute(std::string_view sql, Parameters parameters) {
    send(sql, parameters);
    return mysql_affected_rows(connection_->handle);
}

std::int64_t Database::insert_id() const {
    return static_cast<std::int64_t>(mysql_insert_id(connection_->handle));
}

Transaction::Transaction(Database& database) : database_(database) {
    database_.execute("start transaction");
}

Transaction::~Transaction() {
    if (!open_) return;
    try {
        database_.execute("rollback");
    } catch (const DatabaseError&) {
        // The connection is lost, and the server rolls the transaction back.
    }
}

void Transaction::commit() {
    database_.execute("commit");
    open_ = false;
}

double unix_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace dedloc::server
