#include "project_server/database/schema.hpp"

#include <sstream>
#include <string>

#include "project_server/database/schema_text.hpp"

namespace dedloc::server {

void apply_schema(Database& database) {
    std::istringstream lines{kSchemaText};
    std::string statement;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.starts_with("--")) continue;
        statement += line + '\n';
        if (!line.ends_with(';')) continue;
        database.execute(statement);
        statement.clear();
    }
}

}  // namespace dedloc::server
