#include "project_server/database/statement_limit.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"

namespace dedloc::server {

std::string statement_limit_fault(Database& database) {
    const auto row = database.query_one("select @@max_allowed_packet as bytes");
    const std::int64_t bytes = row->integer("bytes");
    if (bytes > static_cast<std::int64_t>(kLongestStatement)) return {};
    return fmt::format(
        "the database server takes statements of at most {} bytes, and a run may need {}: set "
        "max_allowed_packet=16M, which is MariaDB's default, in its configuration",
        bytes, kLongestStatement);
}

void require_statement_limit(Database& database) {
    const std::string fault = statement_limit_fault(database);
    if (!fault.empty()) throw InputError(fault);
}

}  // namespace dedloc::server
