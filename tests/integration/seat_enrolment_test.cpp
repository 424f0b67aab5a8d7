// A seat uses the bandwidths that the gateway sends with its ticket.
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>

#include "peer/wire/message_codec.hpp"
#include "tests/integration/local_swarm.hpp"
#include "tests/integration/played_gateway.hpp"

namespace dedloc::test {
namespace {

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
            has_heard_ = has_heard_ || (heartbeat->upload == PlayedGateway::kUpload &&
                                        heartbeat->download == PlayedGateway::kDownload);
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
    LocalSeat seat{run, shards, "first_0", runtime::Account{.authenticator = "secret", .host = 1}};
    CHECK(eavesdropper.has_heard());
}

}  // namespace
}  // namespace dedloc::test
