#include "validators/boinc_connection.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <boinc_db.h>
#include <fmt/format.h>
#include <mysql.h>
#include <sched_config.h>
#include <stdlib.h>

#include <memory>

namespace dedloc::validation {

void require_ok(int status, std::string_view wanted) {
    if (status == 0) return;
    throw BoincError(fmt::format("Cannot {}: BOINC error {}{}{}.", wanted, status,
                                 boinc_db.mysql != nullptr ? ", " : "",
                                 boinc_db.mysql != nullptr ? boinc_db.error_string() : ""));
}

BoincConnection::BoincConnection(const std::filesystem::path& project) {
    const auto root = std::filesystem::absolute(project).lexically_normal();
    if (!std::filesystem::exists(root / "config.xml")) {
        throw InputError(fmt::format("{} is no project: it has no config.xml.", root.string()));
    }
    // libsched prefers this variable to its argument, and appends the file's name to the argument.
    ::unsetenv("BOINC_PROJECT_DIR");
    if (::config.parse_file((root.string() + "/").c_str()) != 0) {
        throw InputError(fmt::format("{}/config.xml cannot be parsed.", root.string()));
    }
    const int status =
        boinc_db.open(::config.db_name, ::config.db_host, ::config.db_user, ::config.db_passwd);
    if (status != 0) {
        const std::string reason =
            boinc_db.mysql != nullptr ? boinc_db.error_string() : "out of memory";
        if (boinc_db.mysql != nullptr) boinc_db.close();
        boinc_db.mysql = nullptr;
        throw BoincError(
            fmt::format("Cannot connect to the database at {}: {}.", ::config.db_host, reason));
    }
    // Read committed takes no gap locks, which would block the backbone's inserts into the ledger.
    execute("set session transaction isolation level read committed");
}

BoincConnection::~BoincConnection() {
    boinc_db.close();
    boinc_db.mysql = nullptr;
}

void BoincConnection::execute(const std::string& sql) {
    if (boinc_db.do_query(sql.c_str()) != 0) {
        throw BoincError(fmt::format("The database refused \"{}\": {}.", sql.substr(0, 100),
                                     boinc_db.error_string()));
    }
}

std::vector<BoincConnection::Row> BoincConnection::query(const std::string& sql) {
    execute(sql);
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> answer{
        mysql_store_result(boinc_db.mysql), &mysql_free_result};
    if (!answer) {
        throw BoincError(fmt::format("The answer to \"{}\" was lost: {}.", sql.substr(0, 100),
                                     boinc_db.error_string()));
    }
    std::vector<Row> rows;
    const auto columns = mysql_num_fields(answer.get());
    while (char** const fields = mysql_fetch_row(answer.get())) {
        Row row;
        for (unsigned i = 0; i < columns; ++i) {
            row.emplace_back(fields[i] != nullptr ? fields[i] : "");
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

BoincTransaction::BoincTransaction() {
    require_ok(boinc_db.start_transaction(), "begin a transaction");
}

BoincTransaction::~BoincTransaction() {
    if (is_open_) boinc_db.rollback_transaction();
}

void BoincTransaction::commit() {
    is_open_ = false;
    require_ok(boinc_db.commit_transaction(), "commit a transaction");
}

}  // namespace dedloc::validation
