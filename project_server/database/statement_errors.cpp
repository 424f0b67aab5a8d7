#include "project_server/database/statement_errors.hpp"

#include <fmt/format.h>
#include <mysql.h>
#include <mysqld_error.h>

#include <algorithm>
#include <array>
#include <string>

namespace dedloc::server {
namespace {

/// Bytes of a statement that a message repeats.
constexpr std::size_t kMaxStatement = 120;

/// SQLSTATEs of this class are data exceptions: too long, out of range, of another kind than the
/// column.
constexpr std::string_view kDataException = "22";

/// Errors about values that have a general SQLSTATE, at least in some releases of MariaDB.
constexpr std::array kDataErrors{ER_BAD_NULL_ERROR,
                                 ER_NO_DEFAULT_FOR_FIELD,
                                 ER_TRUNCATED_WRONG_VALUE,
                                 ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
                                 ER_WARN_DATA_OUT_OF_RANGE,
                                 WARN_DATA_TRUNCATED,
                                 ER_DATA_TOO_LONG,
                                 ER_DATA_OUT_OF_RANGE,
                                 ER_ILLEGAL_VALUE_FOR_TYPE,
                                 ER_WRONG_VALUE_FOR_TYPE,
                                 ER_INVALID_CHARACTER_STRING,
                                 ER_CANNOT_CONVERT_CHARACTER,
                                 ER_CANT_AGGREGATE_2COLLATIONS,
                                 ER_CANT_AGGREGATE_3COLLATIONS,
                                 ER_CANT_AGGREGATE_NCOLLATIONS,
                                 ER_WARN_ALLOWED_PACKET_OVERFLOWED,
                                 ER_UNDO_RECORD_TOO_BIG,
                                 ER_NO_PARTITION_FOR_GIVEN_VALUE,
                                 ER_CONSTRAINT_FAILED,
                                 ER_NO_REFERENCED_ROW,
                                 ER_NO_REFERENCED_ROW_2};

bool is_about_data(unsigned code, std::string_view state) {
    return state.starts_with(kDataException) ||
           std::ranges::find(kDataErrors, static_cast<int>(code)) != kDataErrors.end();
}

/// The column in "Data too long for column 'name' at row 1", "… for column `db`.`user`.`name` at
/// row 1", "Column 'name' cannot be null", "Field 'name' doesn't have a default value"; empty: none
/// is named.
std::string column_of(std::string_view message) {
    constexpr std::string_view kQuotes = "'`";
    for (const std::string_view mark : {"column ", "Column ", "Field "}) {
        const auto at = message.find(mark);
        if (at == std::string_view::npos) continue;
        std::string_view name = message.substr(at + mark.size());
        if (name.empty() || kQuotes.find(name.front()) == std::string_view::npos) continue;
        name = name.substr(0, name.find(' '));
        name.remove_suffix(name.size() - (name.find_last_of(kQuotes)));
        return std::string{name.substr(name.find_last_of(kQuotes) + 1)};
    }
    return {};
}

}  // namespace

void throw_statement_error(st_mysql* connection, std::string_view statement) {
    const unsigned code = mysql_errno(connection);
    const std::string reason = mysql_error(connection);
    const std::string sentence =
        fmt::format("The database refused \"{}\": {}", statement.substr(0, kMaxStatement), reason);
    if (is_about_data(code, mysql_sqlstate(connection))) {
        throw RefusedData{sentence, column_of(reason)};
    }
    throw DatabaseError{sentence, code};
}

}  // namespace dedloc::server
