// Turns to compute a slow password hash, shared among the networks that ask for one, so that a
// flood of sign-ins from a few networks does not keep the others out.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/networks.hpp"

namespace dedloc::server {

/// Another password hash would have to wait for too long.
class TooBusyError : public Error {
  public:
    TooBusyError()
        : Error("Too many people are signing in at this moment. Try again in a minute.") {}
};

/// The order of the requests that wait for a turn.
///
/// A turn goes to the wide network (platform::networks_of) that had its last turn longest ago, and
/// in it to the narrower network and the client of which the same is true. Of one client, requests
/// for accounts that have signed in from there go first, then the oldest. When all places are
/// taken, a request leaves: of the client that waits most, in the network that waits most, in the
/// wide network that waits most; among equals, the one whose turn would come last.
class HashQueue {
  public:
    /// Identifies a request; a higher number is newer.
    using Number = std::uint64_t;

    /// Adds a request.
    Number add(const std::string& address, bool is_known);
    /// Removes a request that gives up; does nothing if it is not in the queue.
    void remove(Number number) { waiting_.erase(number); }
    /// Removes the request that gets the next turn. Requires one (DEDLOC_CHECK).
    Number take_next();
    /// Removes the request that leaves when there are too many. Requires one (DEDLOC_CHECK).
    Number take_last();
    /// Requests in the queue.
    std::size_t size() const { return waiting_.size(); }

  private:
    struct Request {
        platform::NetworkKeys networks;
        bool is_known = false;  ///< the account has signed in from this client
    };
    using Turns = std::array<std::uint64_t, 3>;

    Turns last_turns(const Request& request) const;

    std::map<Number, Request> waiting_;
    Number last_ = 0;
    std::uint64_t turns_ = 0;  ///< given so far
    /// The last turn of each network of any width; bounded, the oldest are forgotten.
    std::map<std::string, std::uint64_t> turn_of_;
};

/// Limits of HashTurns.
struct HashLimits {
    std::size_t at_once = 3;   ///< hashes that are computed at the same time
    std::size_t waiting = 32;  ///< requests that wait, each with a thread of the server
    std::chrono::milliseconds wait{8'000};  ///< then a request is told to come again
};

/// Gives the turns. Thread: any.
class HashTurns {
  public:
    /// The right to compute hashes, one after another, from construction to destruction.
    class Turn {
      public:
        /// Waits for a turn. `is_known`: the account has signed in from this client. Errors:
        /// TooBusyError.
        Turn(HashTurns& turns, const std::string& address, bool is_known = false);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        HashTurns& turns_;
    };

    explicit HashTurns(const HashLimits& limits = {}) : limits_(limits) {}

    /// Requests that wait now.
    std::size_t waiting();

  private:
    enum class State { kWaits, kHasTurn, kRefused };

    void give_turns();

    const HashLimits limits_;
    std::mutex mutex_;
    std::condition_variable changed_;
    HashQueue queue_;  ///< guarded by mutex_
    std::map<HashQueue::Number, State>
        states_;             ///< one for each Turn() in progress; guarded by mutex_
    std::size_t taken_ = 0;  ///< turns; guarded by mutex_
};

}  // namespace dedloc::server
