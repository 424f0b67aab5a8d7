#include "project_server/backbone/revocation_watch.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/log.hpp"

namespace dedloc::backbone {

std::optional<formats::Revocations> RevocationWatch::poll(formats::UtcSeconds now) {
    try {
        if (!database_) database_ = std::make_unique<server::Database>(settings_);
        latest_ = std::max(latest_, now);
        formats::Revocations revocations = server::recent_revocations(*database_, latest_);
        is_away_ = false;
        return revocations;
    } catch (const server::DatabaseError& error) {
        if (!std::exchange(is_away_, true)) {
            log_warning("cannot read the project's revocations: {}", error.what());
        }
        database_.reset();
        return std::nullopt;
    }
}

}  // namespace dedloc::backbone
