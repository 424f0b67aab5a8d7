// A seat uses the bandwidths that the gateway sends with its ticket.
#include <httplib.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "peer/formats/enrolment.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/integration/local_swarm.hpp"

namespace dedloc::test {
namespace {

constexpr Bandwidth kUpload{1'250'000};
constexpr Bandwidth kDownload{12'500'000};

/// Answers every request with a ticket and the same bandwidths.
class PlayedGateway {
  public:
    explicit PlayedGateway(const TicketedProject& project)
        : project_(project), port_(http_.bind_to_any_port("127.0.0.1")) {
        http_.Post("/enrol", [this](const httplib::Request& request, httplib::Response& response) {
            const auto wanted = formats::parse_enrolment_request(request.body);
            formats::EnrolmentReply reply;
            reply.ticket = project_.ticket_for(wanted.key, run);
            reply.revoked = formats::sign(formats::Revocations{}, project_.key);
            reply.address = "127.0.0.1";
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
    httplib::Server http_;
    const int port_;
    std::thread thread_;
};

/// Waits for a heartbeat with both bandwidths.
class Eavesdropper {
  public:
    EventSink sink() {
        return [this](const Event& event) {
            const auto* const received = std::get_if<event::FrameReceived>(&event);
            if (received == nullptr) return;
            const auto message = wire::decode_unverified(*received->frame);
            if (!message) return;
            const auto* const heartbeat = std::get_if<wire::Heartbeat>(&message->body);
            if (heartbeat == nullptr) return;
            const std::lock_guard lock(mutex_);
            has_heard_ =
                has_heard_ || (heartbeat->upload == kUpload && heartbeat->download == kDownload);
            changed_.notify_all();
        };
    }
    bool has_heard() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return has_heard_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool has_heard_ = false;
};

TEST_CASE("a seat announces the bandwidths that BOINC has measured", "[boinc][integration]") {
    Eavesdropper eavesdropper;
    const KeyPair key = KeyPair::generate();
    const TicketedProject project{.key = key, .overhear = eavesdropper.sink()};
    PlayedGateway gateway(project);
    formats::RunFile run = tiny_run();
    run.target_batch = 1'000'000'000;  // no round, so no measurement replaces them
    run.gateway = gateway.url();
    const std::vector<formats::Shard> shards{skewed_shard(run, 1)};
    Witness witness;
    const LocalBackbone backbone{run, witness, &project};
    gateway.run = formats::run_id(run);
    LocalSeat seat{run, shards, "first_0", Account{.authenticator = "secret", .host = 1}};
    CHECK(eavesdropper.has_heard());
}

}  // namespace
}  // namespace dedloc::test
