#include "project_server/database/task_state.hpp"

namespace dedloc::server {

const char* task_state(const Row& row) {
    switch (row.integer("server_state")) {
        case 4:
            return "in progress";
        case 5:
            break;
        default:
            return "not sent";
    }
    switch (row.integer("outcome")) {
        case 1:
            break;
        case 3:
            return "failed on the computer";
        case 4:
            return "not reported in time";
        case 5:
            return "not needed any more";
        case 6:
            return "not valid";
        case 7:
            return "given up by the computer";
        default:
            return "over";
    }
    switch (row.integer("validate_state")) {
        case 1:
            return "valid";
        case 0:
        case 4:  // undecided
            return "waiting for validation";
        default:
            return "not valid";
    }
}

}  // namespace dedloc::server
