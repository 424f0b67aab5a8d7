// Server-sent events of a run (text/event-stream): GET PREFIX/api/run/NAME/events. Browsers follow
// a run without asking again and again. One thread for each run that is watched follows the run's
// control plane; every stream holds one of the server's threads, which sleeps between events.
//
// The first event of a stream is `snapshot`, the whole picture; then come the events of
// project_server/control/messages.hpp under their names. An id names session and sequence: a
// browser that returns with Last-Event-ID gets what it has missed, or a new snapshot. `away` says
// that the run's backbone does not answer. Anyone may read a stream, so it has neither the users of
// peers nor suspicions.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "project_server/control/messages.hpp"

#include "project_server/http/address_slots.hpp"

namespace httplib {
class Server;
struct Request;
struct Response;
}  // namespace httplib

namespace dedloc::server {

/// Streams at the same time; the server needs as many threads more. Others get status 503, and ask
/// for JSON instead.
inline constexpr std::size_t kMaxStreams = 128;
/// Streams of one client (see AddressSlots) at the same time.
inline constexpr std::size_t kMaxStreamsOfAddress = 16;
/// Runs that pictures() follows at most, of which the newest.
inline constexpr std::size_t kMaxFollowed = 64;

/// The streams of one server.
class LiveEvents {
  public:
    /// `runs` is the project's folder of runs.
    explicit LiveEvents(std::filesystem::path runs);
    /// Requires that no stream is open: the server must have ended.
    ~LiveEvents();
    LiveEvents(const LiveEvents&) = delete;
    LiveEvents& operator=(const LiveEvents&) = delete;

    /// Adds the route. Requires that the server ends before this object.
    void add_route(httplib::Server& server, const std::string& prefix);
    /// Ends all streams. Thread: any.
    void stop();

    /// The present picture of a run, without the users of peers; nothing if its backbone does not
    /// answer or there is no such run. The first call for a run waits up to 1.5 s. Needs no
    /// database. Thread: any.
    std::optional<control::Snapshot> picture(const std::string& run);
    /// The present pictures of all runs whose backbones answer, by name. Thread: any.
    std::vector<control::Snapshot> pictures();

  private:
    class Feed;

    void open(const httplib::Request& request, httplib::Response& response);
    std::shared_ptr<Feed> feed_of(const std::string& run);

    const std::filesystem::path runs_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Feed>> feeds_;  ///< keys are runs; guarded by mutex_
    bool is_stopping_ = false;                            ///< guarded by mutex_
    AddressSlots streams_{kMaxStreams, kMaxStreamsOfAddress};
};

}  // namespace dedloc::server
