// A gateway for tests of seats: each request gets a ticket.
#pragma once

#include <httplib.h>

#include <string>
#include <thread>

#include "peer/formats/enrolment.hpp"
#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {

/// Answers every request with a ticket, the same bandwidths, and whether the port can be dialled.
class PlayedGateway {
  public:
    static constexpr Bandwidth kUpload{1'250'000};
    static constexpr Bandwidth kDownload{12'500'000};

    explicit PlayedGateway(const TicketedProject& project, bool finds_reachable = false)
        : project_(project),
          finds_reachable_(finds_reachable),
          port_(http_.bind_to_any_port("127.0.0.1")) {
        http_.Post("/enrol", [this](const httplib::Request& request, httplib::Response& response) {
            const auto wanted = formats::parse_enrolment_request(request.body);
            formats::EnrolmentReply reply;
            reply.ticket = project_.ticket_for(wanted.key, run);
            reply.revoked = formats::sign(formats::Revocations{}, project_.key);
            reply.address = "127.0.0.1";
            reply.is_reachable = finds_reachable_;
            reply.upload = kUpload;
            reply.download = kDownload;
            response.set_content(formats::write_enrolment_reply(reply), "application/json");
        });
        thread_ = std::thread([this] { http_.listen_after_bind(); });
    }
    ~PlayedGateway() {
        while (!http_.is_running()) std::this_thread::yield();
        http_.stop();
        thread_.join();
    }
    PlayedGateway(const PlayedGateway&) = delete;
    PlayedGateway& operator=(const PlayedGateway&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }
    RunId run;  ///< set before the first request

  private:
    const TicketedProject& project_;
    const bool finds_reachable_;
    httplib::Server http_;
    const int port_;
    std::thread thread_;
};

}  // namespace dedloc::test
