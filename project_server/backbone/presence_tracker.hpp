// Follows the ledger and says when each peer took part in the run. All of it follows from the
// ledger, so a backbone that starts anew and reads the ledger again finds the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "project_server/backbone/ledger.hpp"
#include "project_server/database/presence.hpp"

namespace dedloc::backbone {

/// The presences of a run's peers (server::Presence, without owners). Memory: those that go on and
/// those that have changed since take_changed(). Copyable, so that a reader can go back.
class PresenceTracker {
  public:
    /// `codec`: the run's, for the size of reduced bytes.
    explicit PresenceTracker(Codec codec) : codec_(codec) {}

    /// Counts the members that contributed samples or averages to a step. Commits come in the order
    /// of the ledger; a clock that was set back shortens nothing.
    void add(const LedgerCommit& commit);
    /// Those that are new or longer since the last call, by key and begin.
    std::vector<server::Presence> take_changed();

  private:
    void forget(std::int64_t before);

    Codec codec_;
    std::map<PeerKey, server::Presence> open_;  ///< may still become longer
    std::set<PeerKey> changed_;                 ///< keys in open_
    std::vector<server::Presence> closed_;      ///< changed, and over
    std::int64_t forgotten_ = 0;                ///< argument of the last forget()
};

}  // namespace dedloc::backbone
