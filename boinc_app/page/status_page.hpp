// A web page on this machine that shows the volunteer what the job does now. The BOINC Manager
// opens it with its button "Show graphics".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "boinc_app/page/history.hpp"
#include "boinc_app/runtime/volunteer_runtime.hpp"

namespace dedloc::page {

/// What the page shows.
struct Picture {
    std::string run;            ///< name of the run
    std::uint64_t step = 0;     ///< updates of the swarm that the seat knows of
    std::uint64_t steps = 0;    ///< updates after which the run is finished
    std::string device;         ///< what computes, such as "4 CPUs"
    std::string doing;          ///< what the job does now: one sentence
    double progress = 0;        ///< the job's, 0 … 1
    bool trains = true;         ///< false: the job averages only
    std::uint64_t samples = 0;  ///< counted by commits, of the whole job
    Bytes averaged{};           ///< other members' gradients, since the process began
    std::optional<std::chrono::seconds> time_left{};  ///< the lease's; nothing: until the run ends
    Bytes sent{};                                     ///< since the process began
    Bytes received{};                                 ///< likewise
    std::optional<runtime::AccountCredit> credit{};   ///< nothing outside a project
    History history{};                                ///< what this process has seen
};

/// The page as HTML, without scripts: it reloads itself every five seconds. All texts are escaped.
/// Cost: O(rounds and events of the history).
std::string status_html(const Picture& picture);

/// Serves the page at a free port of 127.0.0.1 until it is destroyed, by a thread of its own. Only
/// GET of / is answered, and only if the request's Host is this address, so that a web site cannot
/// read the page by a name that resolves to 127.0.0.1. At most four connections are open, for two
/// seconds each.
class StatusPage {
  public:
    /// `picture` is called by the page's thread. Errors: IoError if there is no free port.
    explicit StatusPage(std::function<Picture()> picture);
    ~StatusPage();
    StatusPage(const StatusPage&) = delete;
    StatusPage& operator=(const StatusPage&) = delete;

    /// The URL of the page, such as http://127.0.0.1:40123/.
    std::string url() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dedloc::page
