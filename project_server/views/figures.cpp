#include "project_server/views/figures.hpp"

#include "project_server/database/states.hpp"

namespace dedloc::server {

std::int64_t count_of(Database& database, Figure figure, double now) {
    constexpr double kPastDay = 86'400;
    struct Counted {
        const char* rows;  ///< those of which a column compares with the value
        Parameter value;
    };
    const Counted counted[] = {
        // the order is that of Figure
        {"result where server_state = ?", ServerState::kUnsent},
        {"result where server_state = ?", ServerState::kInProgress},
        {"result where file_delete_state = ?", FileDeleteState::kReady},
        {"workunit where need_validate = ?", 1},
        {"workunit where assimilate_state = ?", AssimilateState::kReady},
        {"workunit where file_delete_state = ?", FileDeleteState::kReady},
        {"user where expavg_credit > ?", 1},
        {"user where total_credit > ?", 0},
        {"user where create_time > ?", now - kPastDay},
        {"host where expavg_credit > ?", 1},
        {"host where total_credit > ?", 0},
        {"host where create_time > ?", now - kPastDay},
        {"team where id > ?", 0},
    };
    const auto& [rows, value] = counted[static_cast<std::size_t>(figure)];
    return database.query_one(std::string{"select count(*) as n from "} + rows, {value})
        ->integer("n");
}

}  // namespace dedloc::server
