// The statements that the test's database server gets, and how it reads tables for them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {

/// Logs the statements of all connections from begin() to explain(). It is made before the other
/// connections: the server only logs the values of a statement that was prepared when logging was
/// on.
class StatementLog {
  public:
    StatementLog() {
        administrator_.execute("set global log_output = 'NONE'");
        administrator_.execute("set global general_log = 1");
    }
    ~StatementLog() { administrator_.execute("set global general_log = 0"); }
    StatementLog(const StatementLog&) = delete;
    StatementLog& operator=(const StatementLog&) = delete;

    void begin() {
        administrator_.execute("truncate table mysql.general_log");
        administrator_.execute("set global log_output = 'TABLE'");
        administrator_.execute("set global general_log = 1");
    }

    /// How many executed statements begin with `verb` and contain `text`. Ends the log until the
    /// next begin().
    std::int64_t count(const std::string& verb, const std::string& text) {
        return std::ranges::count_if(statements(), [&](const std::string& sql) {
            return sql.starts_with(verb) && sql.find(text) != std::string::npos;
        });
    }

    /// What has been found in the log.
    struct Findings {
        std::size_t kinds = 0;             ///< different statements that read tables
        std::vector<std::string> scans{};  ///< those that read many rows
    };
    /// Asks the server how it reads for each kind of statement. Tables (or aliases) in `small` may
    /// be read whole; an index may give few rows only of those in `unique`. Ends the log.
    Findings explain(Database& database, const std::set<std::string>& small,
                     const std::set<std::string>& unique = {}) {
        Findings findings;
        std::set<std::string> kinds;
        for (const std::string& sql : statements()) {
            std::string verb = sql.substr(0, 6);
            for (char& c : verb) c = static_cast<char>(std::tolower(c));
            if (verb != "select" && verb != "update" && verb != "delete") continue;
            if (!kinds.insert(kind_of(sql)).second) continue;
            for (const auto& line : database.query("explain " + sql)) {
                const std::string& type = line.text("type");
                // An index that is read in its order up to a limit is estimated at few rows. The
                // rows of a subquery are judged where it reads them.
                // "4000", or "4000 (2%)" where another index filters.
                const bool is_long = std::atoll(line.text("rows").c_str()) > kMaxLimit;
                const std::string& table = line.text("table");
                const bool is_whole =
                    type == "ALL" || (type == "index" && is_long) ||
                    (type.starts_with("ref") && is_long && unique.contains(table));
                const bool is_derived = table.starts_with("<");
                if (!is_whole || is_derived || small.contains(table)) continue;
                findings.scans.push_back(fmt::format("{} rows of {} by {}: {}", line.text("rows"),
                                                     table, type, sql.substr(0, 600)));
            }
        }
        findings.kinds = kinds.size();
        return findings;
    }

  private:
    static constexpr std::int64_t kMaxLimit = 200;  ///< rows; tests have more

    /// All statements in the log, which ends.
    std::vector<std::string> statements() {
        administrator_.execute("set global general_log = 0");
        std::vector<std::string> all;
        for (const auto& row : administrator_.query(
                 "select convert(argument using utf8mb4) as sql_ from mysql.general_log where "
                 "command_type in ('Query', 'Execute')")) {
            all.push_back(first_of(row.text("sql_")));
        }
        return all;
    }
    /// A statement without those that came behind it in the same message; each of them has an
    /// entry of its own.
    static std::string first_of(const std::string& message) {
        char quote = '\0';
        for (std::size_t i = 0; i < message.size(); ++i) {
            const char c = message[i];
            if (quote != '\0') {
                if (c == '\\') ++i;
                if (c == quote) quote = '\0';
            } else if (c == '\'' || c == '"' || c == '`') {
                quote = c;
            } else if (c == ';') {
                return message.substr(0, i);
            }
        }
        return message;
    }
    /// The statement without its values.
    static std::string kind_of(const std::string& sql) {
        static const std::regex values{"'(?:[^'\\\\]|\\\\.)*'|[0-9]+(?:, ?[0-9]+)*"};
        return std::regex_replace(sql.substr(0, 4'000), values, "?");
    }

    Database administrator_{mariadb_administrator(test_mariadb().place())};
};

}  // namespace dedloc::server
