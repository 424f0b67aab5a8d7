// Two queries of the information schema find tables with a wrong default and columns with a wrong
// collation; columns that are generated are left alone. The definition of each such column is built
// again from what the server says of it, with the right character set, so that one statement
// converts the table and keeps type, null and default. Tables that are right get no statement, so a
// second call costs the two queries only.
#include "project_server/database/text_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "peer/base/log.hpp"

namespace dedloc::server {
namespace {

/// Ignores case and accents.
constexpr const char* kSearchCollation = "utf8mb4_general_ci";
/// Rows whose conversion takes long enough to announce it.
constexpr std::int64_t kManyRows = 500'000;

void add_collation(OtherText& text, const std::string& collation) {
    const auto known = std::ranges::find(text.collations, collation);
    if (known == text.collations.end()) text.collations.push_back(collation);
}

/// The column with the wanted collation. column_default is SQL already.
std::string definition_of(const Row& column) {
    std::string definition = fmt::format("`{}` {} character set {} collate {}", column.text("name"),
                                         column.text("type"), kTextCharacterSet, kTextCollation);
    if (column.text("nullable") == "NO") definition += " not null";
    if (!column.is_null("its_default")) definition += " default " + column.text("its_default");
    return definition;
}

}  // namespace

std::vector<OtherText> tables_with_other_text(Database& database,
                                              std::span<const std::string> tables) {
    std::map<std::string, OtherText> found;
    for (const Row& row : database.query(
             "select table_name as name, table_collation as collation_, coalesce(table_rows, 0) as "
             "rows_ from information_schema.tables where table_schema = database()")) {
        const std::string name = row.text("name");
        if (std::ranges::find(tables, name) == tables.end()) continue;
        OtherText& text = found[name];
        text.table = name;
        text.rows = row.integer("rows_");
        if (row.text("collation_") == kTextCollation) continue;
        text.table_collation = row.text("collation_");
        add_collation(text, text.table_collation);
    }
    for (const Row& row : database.query(
             "select table_name as its_table, column_name as name, column_type as type, "
             "collation_name as collation_, is_nullable as nullable, column_default as its_default "
             "from information_schema.columns where table_schema = database() and collation_name "
             "<> ? and extra not like '%generated%' order by table_name, ordinal_position",
             {kTextCollation})) {
        const auto place = found.find(row.text("its_table"));
        if (place == found.end()) continue;
        place->second.columns.push_back(row.text("name"));
        place->second.definitions.push_back(definition_of(row));
        add_collation(place->second, row.text("collation_"));
    }
    std::vector<OtherText> all;
    for (auto& [name, text] : found) {
        if (!text.collations.empty()) all.push_back(std::move(text));
    }
    return all;
}

std::vector<std::string> convert_text(Database& database, std::span<const std::string> tables) {
    std::vector<std::string> changes;
    for (const OtherText& text : tables_with_other_text(database, tables)) {
        if (text.rows >= kManyRows) {
            log_info(
                "converting the text of the table {}, which has about {} rows; this may take "
                "minutes",
                text.table, text.rows);
        }
        std::string statement = fmt::format("alter table `{}` default character set {} collate {}",
                                            text.table, kTextCharacterSet, kTextCollation);
        for (const std::string& definition : text.definitions) {
            statement += ", modify column " + definition;
        }
        database.execute(statement);
        changes.push_back(
            fmt::format("the text of the table {} is compared by bytes now, not by {}", text.table,
                        fmt::join(text.collations, ", ")));
    }
    return changes;
}

std::string same_text(const std::string& column) {
    return fmt::format("({0} = ? and {0} = ? collate {1})", column, kTextCollation);
}

std::string like_text(const std::string& column) {
    return fmt::format("{} like ? collate {}", column, kSearchCollation);
}

std::string like_pattern(std::string_view text) {
    std::string pattern = "%";
    for (const char c : text) {
        if (c == '%' || c == '_' || c == '\\') pattern += '\\';
        pattern += c;
    }
    return pattern + '%';
}

}  // namespace dedloc::server
