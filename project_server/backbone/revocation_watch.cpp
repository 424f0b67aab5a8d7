#include "project_server/backbone/revocation_watch.hpp"

#include <utility>

#include "peer/base/log.hpp"

namespace dedloc::backbone {

wire::Revocations RevocationWatch::look(wire::UtcSeconds now) {
    try {
        if (!database_) database_ = std::make_unique<server::Database>(settings_);
        wire::Revocations revocations = server::recent_revocations(*database_, now);
        is_away_ = false;
        return revocations;
    } catch (const server::DatabaseError& error) {
        if (!std::exchange(is_away_, true)) {
            log_warning("cannot see now whom the project revokes: {}", error.what());
        }
        database_.reset();
        return {};
    }
}

}  // namespace dedloc::backbone
