#include "project_server/ticket_key.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/platform/key_file.hpp"

namespace dedloc::server {

namespace fs = std::filesystem;

fs::path ticket_key_file(const fs::path& state) {
    return state / "keys/ticket.key";
}

bool make_ticket_key(const fs::path& state) {
    const fs::path file = ticket_key_file(state);
    if (fs::exists(file)) return false;
    platform::write_key(file, KeyPair::generate());
    return true;
}

KeyPair read_ticket_key(const fs::path& state) {
    const fs::path file = ticket_key_file(state);
    if (!fs::exists(file)) {
        throw InputError(
            fmt::format("{} is absent: dedloc project upgrade, or dedloc install under an official "
                        "BOINC server, makes it",
                        file.string()));
    }
    return platform::read_key(file);
}

}  // namespace dedloc::server
