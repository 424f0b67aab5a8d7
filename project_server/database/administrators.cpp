#include "project_server/database/administrators.hpp"

namespace dedloc::server {

bool is_administrator(Database& database, std::int64_t user) {
    return database.query_one("select userid from dedloc_administrator where userid = ?", {user})
        .has_value();
}

void set_administrator(Database& database, std::int64_t user, bool is_one) {
    database.execute(is_one ? "insert ignore into dedloc_administrator (userid) values (?)"
                            : "delete from dedloc_administrator where userid = ?",
                     {user});
}

}  // namespace dedloc::server
