// The tables that schema.sql makes are made as temporary tables of one connection, where they hide
// the real ones, and compared with what another connection sees. So MariaDB itself reads the
// schema, and neither a parser of SQL nor a second list of columns is needed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "project_server/check/checks.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/database/statement_limit.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::check {
namespace {

/// A table as the server describes it: columns in their order, and indices by name.
struct Shape {
    std::vector<std::pair<std::string, std::string>> columns;
    std::map<std::string, std::string> indices;
};

Shape shape_of(server::Database& database, const std::string& table) {
    Shape shape;
    for (const auto& row : database.query(fmt::format("show columns from `{}`", table))) {
        shape.columns.emplace_back(
            row.text("Field"),
            fmt::format("{}{}{}{}", row.text("Type"), row.text("Null") == "NO" ? " not null" : "",
                        row.is_null("Default") ? "" : " default " + row.text("Default"),
                        row.text("Extra").empty() ? "" : " " + row.text("Extra")));
    }
    for (const auto& row : database.query(fmt::format("show index from `{}`", table))) {
        std::string& index = shape.indices[row.text("Key_name")];
        index += index.empty() ? (row.integer("Non_unique") == 0 ? "unique " : "") : ", ";
        index += row.text("Column_name") + (row.text("Collation") == "D" ? " desc" : "");
    }
    return shape;
}

/// One finding for each table, since a conversion changes all its columns.
void check_text(server::Database& database, const std::vector<std::string>& tables,
                const std::string& upgrade, Findings& findings) {
    for (const auto& text : server::tables_with_other_text(database, tables)) {
        findings.bad(
            fmt::format("the table {} compares its text by {}, not by bytes ({}): {}", text.table,
                        fmt::join(text.collations, ", "), server::kTextCollation,
                        text.columns.empty() ? "the default of new columns"
                                             : fmt::format("{}", fmt::join(text.columns, ", "))),
            upgrade);
    }
}

class SchemaComparison {
  public:
    SchemaComparison(std::string upgrade, Findings& findings)
        : findings_(findings), upgrade_(std::move(upgrade)) {}

    void absent_table(const std::string& table) {
        findings_.bad(fmt::format("the table {} is absent", table), upgrade_);
    }

    void compare(const std::string& table, const Shape& found, const Shape& wanted) {
        std::vector<std::string> order;
        for (const auto& [name, description] : wanted.columns) {
            const auto column = std::ranges::find(found.columns, name, first);
            if (column == found.columns.end()) {
                findings_.bad(fmt::format("the column {}.{} is absent", table, name), upgrade_);
            } else {
                different("column", table + '.' + name, column->second, description);
            }
            order.push_back(name);
        }
        for (const auto& [name, description] : wanted.indices) {
            const auto index = found.indices.find(name);
            if (index == found.indices.end()) {
                findings_.bad(
                    fmt::format("the index {}.{} ({}) is absent", table, name, description),
                    upgrade_);
            } else {
                different("index", table + '.' + name, index->second, description);
            }
        }
        if (!table.starts_with("dedloc_") && findings_.is_clean()) check_order(table, found, order);
    }

  private:
    static const std::string& first(const std::pair<std::string, std::string>& column) {
        return column.first;
    }

    void different(const char* what, const std::string& name, const std::string& found,
                   const std::string& wanted) {
        if (found == wanted) return;
        findings_.bad(fmt::format("the {} {} is ({}), not ({})", what, name, found, wanted),
                      "it was changed by hand or by another program: change it back");
    }

    /// libsched reads the rows of BOINC's tables by position.
    void check_order(const std::string& table, const Shape& found,
                     const std::vector<std::string>& order) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (found.columns[i].first == order[i]) continue;
            return findings_.bad(
                fmt::format("the column {} of {} is not at its place: BOINC's library reads {} "
                            "there",
                            found.columns[i].first, table, order[i]),
                "alter table … modify … after …");
        }
    }

    Findings& findings_;
    const std::string upgrade_;
};

}  // namespace

void check_schema(const Subject& subject, Findings& findings) {
    server::Database real{subject.config.database};
    server::Database wanted{subject.config.database};
    server::make_temporary_schema(wanted, subject.is_official());
    std::set<std::string> present;
    for (const auto& row : real.query(
             "select table_name from information_schema.tables where table_schema = database()")) {
        present.insert(row.text("table_name"));
    }
    const std::string upgrade =
        fmt::format("dedloc {} {}", subject.is_official() ? "install --into" : "project upgrade",
                    subject.project.string());
    SchemaComparison comparison{upgrade, findings};
    const auto tables = subject.is_official() ? server::own_tables() : server::all_tables();
    for (const std::string& table : tables) {
        if (!present.contains(table)) {
            comparison.absent_table(table);
        } else {
            comparison.compare(table, shape_of(real, table), shape_of(wanted, table));
        }
    }
    check_text(real, tables, upgrade, findings);
    if (const auto fault = server::statement_limit_fault(real); !fault.empty()) {
        findings.bad(fault, "then restart the database server");
    }
    if (findings.is_clean())
        findings.good(fmt::format("{} tables are as they should be", tables.size()));
}

}  // namespace dedloc::check
