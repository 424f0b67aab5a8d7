// The embedded text is divided into statements at line ends with a semicolon, and a small parser
// finds verb and table of each. The lists of tables follow from these statements, so the schema is
// the only place to change. Applying it executes every statement, all of which may be repeated. An
// upgrade compares what the database lists before and after, and leaves out what belongs to a table
// that is itself new.
#include "project_server/database/schema.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "peer/base/check.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/database/schema_text.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::server {
namespace {

/// A statement of the schema, and what it does to which table.
struct Statement {
    std::string text{};
    std::string verb{};   ///< create, alter, insert, update
    std::string table{};  ///< also that of an index

    bool is_own() const { return table.starts_with("dedloc_"); }
};

/// The table's name follows the word "on" of an index, or else the words before it.
std::string table_of(const std::vector<std::string>& words) {
    for (const char* const mark : {"on", "table", "into", "update"}) {
        auto at = std::ranges::find(words, mark);
        if (at == words.end()) continue;
        do ++at;
        while (at != words.end() && (*at == "if" || *at == "not" || *at == "exists"));
        if (at != words.end()) return at->substr(0, at->find_first_of("(;"));
    }
    return {};
}

Statement parsed(const std::string& text) {
    // The name is among the first words: create unique index if not exists NAME on TABLE.
    constexpr std::size_t kWords = 10;
    std::istringstream input{text};
    std::vector<std::string> words;
    for (std::string word; words.size() < kWords && input >> word;) words.push_back(word);
    DEDLOC_CHECK(!words.empty(), "a statement has words", text);
    if (words.front() == "update") return {text, words.front(), words.at(1)};
    // Columns may have defaults "on update": only an index has its table behind "on".
    const bool is_index = words.front() == "create" && words.at(1) != "table";
    if (!is_index) std::erase(words, "on");
    Statement statement{text, words.front(), table_of(words)};
    DEDLOC_CHECK(!statement.table.empty(), "a statement names its table", text);
    return statement;
}

std::vector<Statement> statements() {
    std::vector<Statement> all;
    std::istringstream lines{kSchemaText};
    std::string statement;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.starts_with("--")) continue;
        statement += line + '\n';
        if (!line.ends_with(';')) continue;
        all.push_back(parsed(statement));
        statement.clear();
    }
    return all;
}

std::vector<std::string> tables_of(const std::string& verb, bool is_own) {
    std::vector<std::string> names;
    for (const auto& statement : statements()) {
        const bool is_chosen = (statement.is_own() || !is_own) && statement.verb == verb;
        if (is_chosen && std::ranges::find(names, statement.table) == names.end()) {
            names.push_back(statement.table);
        }
    }
    return names;
}

/// "table NAME", "column TABLE.NAME" and "index TABLE.NAME" for all that the database has.
std::set<std::string> things_in(Database& database) {
    std::set<std::string> things;
    for (const Row& row : database.query(
             "select concat('table ', table_name) as thing from information_schema.tables where "
             "table_schema = database() union select concat('column ', table_name, '.', "
             "column_name) from information_schema.columns where table_schema = database() union "
             "select concat('index ', table_name, '.', index_name) from "
             "information_schema.statistics where table_schema = database()")) {
        things.insert(row.text("thing"));
    }
    return things;
}

}  // namespace

std::vector<std::string> apply_schema(Database& database) {
    for (const auto& statement : statements()) database.execute(statement.text);
    const auto moved = move_former_figures(database);
    auto changes = convert_text(database, all_tables());
    if (moved) changes.push_back(*moved);
    return changes;
}

std::vector<std::string> upgrade_schema(Database& database) {
    const auto before = things_in(database);
    auto converted = apply_schema(database);
    std::vector<std::string> changes;
    for (const auto& thing : things_in(database)) {
        // A new table's columns and indices go without saying.
        const auto table = "table " + thing.substr(thing.find(' ') + 1);
        const bool is_of_new_table =
            !thing.starts_with("table ") && !before.contains(table.substr(0, table.find('.')));
        if (!before.contains(thing) && !is_of_new_table) changes.push_back(thing + " was created");
    }
    std::ranges::move(converted, std::back_inserter(changes));
    return changes;
}

void apply_own_schema(Database& database) {
    for (const auto& statement : statements()) {
        if (statement.is_own()) database.execute(statement.text);
    }
    move_former_figures(database);
    convert_text(database, own_tables());
}

void make_temporary_schema(Database& database, bool is_own) {
    constexpr std::string_view kCreateTable = "create table ";
    for (const auto& statement : statements()) {
        if (is_own && !statement.is_own()) continue;
        if (statement.text.starts_with(kCreateTable)) {
            database.execute("create temporary table " +
                             statement.text.substr(kCreateTable.size()));
        } else if (statement.verb == "create" || statement.verb == "alter") {
            database.execute(statement.text);
        }
    }
}

std::vector<std::string> own_tables() {
    return tables_of("create", true);
}

std::vector<std::string> all_tables() {
    return tables_of("create", false);
}

std::vector<std::string> reference_tables() {
    return tables_of("insert", true);
}

std::string_view schema_text() {
    return kSchemaText;
}

}  // namespace dedloc::server
