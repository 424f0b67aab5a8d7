// The simulated network alone, with nodes that only record their events.
#include "peer/simulation/network.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

using namespace dedloc;
using namespace dedloc::simulation;
using namespace std::chrono_literals;

namespace {

struct Heard {
    TimePoint when;
    NodeId node;
    Event event;
};

class Lab final : public NetworkSink {
  public:
    explicit Lab(const NetworkOptions& options = {})
        : network(timeline, *this, Random{7}, options) {}

    NodeId add(double upload, double download, Duration latency = 10ms,
               bool outbound_only = false) {
        const auto number = static_cast<std::uint16_t>(network.node_count());
        const NodeId id = network.add_node({.upload_bytes_per_second = upload,
                                            .download_bytes_per_second = download,
                                            .latency = latency,
                                            .jitter = 0ms,
                                            .is_outbound_only = outbound_only},
                                           address(number));
        network.start(id);
        return id;
    }
    static Endpoint address(NodeId id) { return {"10.0.0." + std::to_string(id), 1}; }
    void happened(NodeId node, const Event& event) override {
        heard.push_back({timeline.now(), node, event});
    }
    void run() {
        while (!timeline.is_empty()) network.handle(timeline.pop());
    }
    void run_for(Duration time) {
        const TimePoint end = timeline.now() + time;
        while (!timeline.is_empty() && timeline.next() <= end) network.handle(timeline.pop());
        timeline.pass_to(end);
    }
    /// Opens a link and returns the end at `from`.
    LinkId connect(NodeId from, NodeId to) {
        network.dial(from, address(to));
        run();
        return all<event::LinkOpened>(from).back().link;
    }
    template <class Kind>
    std::vector<Kind> all(NodeId node) const {
        std::vector<Kind> found;
        for (const Heard& one : heard) {
            const auto* event = std::get_if<Kind>(&one.event);
            if (one.node == node && event != nullptr) found.push_back(*event);
        }
        return found;
    }
    double seconds() const {
        return std::chrono::duration<double>(timeline.now().time_since_epoch()).count();
    }

    Timeline timeline;
    Network network;
    std::vector<Heard> heard;
};

SharedBytes frame_of(std::size_t size) {
    return std::make_shared<Buffer>(size);
}

constexpr double kMB = 1e6;

}  // namespace

TEST_CASE("a dial takes a round trip and opens both ends", "[net][sim]") {
    Lab lab;
    const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB);
    (void)lab.connect(a, b);
    REQUIRE(lab.heard.size() == 2);
    REQUIRE(lab.heard[0].node == a);
    REQUIRE(lab.heard[0].when == TimePoint{} + 40ms);
    REQUIRE(lab.heard[1].when == TimePoint{} + 60ms);
    REQUIRE(lab.all<event::LinkOpened>(a)[0].remote == Lab::address(b));
    REQUIRE(lab.all<event::LinkOpened>(b)[0].remote.host == Lab::address(a).host);
}

TEST_CASE("dials fail at once if no process listens and by timeout if no machine answers",
          "[net][sim]") {
    Lab lab;
    const NodeId a = lab.add(kMB, kMB), dead = lab.add(kMB, kMB), gone = lab.add(kMB, kMB);
    const NodeId hidden = lab.add(kMB, kMB, 10ms, true);
    lab.network.stop(dead, Exit::kCutOff);
    lab.network.stop(gone, Exit::kSilent);
    for (const NodeId to : {dead, gone, hidden}) lab.network.dial(a, Lab::address(to));
    lab.run();
    const auto failed = lab.all<event::DialFailed>(a);
    REQUIRE(failed.size() == 3);
    REQUIRE(failed[0].remote == Lab::address(dead));
    REQUIRE(lab.heard[0].when == TimePoint{} + 40ms);
    REQUIRE(lab.heard[2].when == TimePoint{} + 5s);
}

TEST_CASE("a frame takes its bytes over the slower end's bandwidth plus a latency", "[net][sim]") {
    for (const auto& [up, down, wanted] : {std::tuple{1.0, 10.0, 1.02}, {10.0, 1.0, 1.02}}) {
        Lab lab{{.window_bytes = 1 << 20, .frame_overhead = 0, .dial_timeout = 5s}};
        const NodeId a = lab.add(up * kMB, kMB), b = lab.add(kMB, down * kMB);
        const LinkId link = lab.connect(a, b);
        const double start = lab.seconds();
        lab.network.send(link, frame_of(1'000'000));
        lab.run();
        REQUIRE(lab.all<event::FrameWritten>(a).size() == 1);
        REQUIRE(lab.all<event::FrameReceived>(b).size() == 1);
        REQUIRE(lab.seconds() - start == Approx(wanted).margin(0.001));
    }
}

TEST_CASE("links share an uplink evenly and a short frame does not wait for all of them",
          "[net][sim]") {
    Lab lab{{.window_bytes = 1 << 20, .frame_overhead = 0, .dial_timeout = 5s}};
    const NodeId a = lab.add(kMB, kMB);
    std::vector<LinkId> links;
    for (int i = 0; i < 5; ++i) links.push_back(lab.connect(a, lab.add(kMB, 100 * kMB)));
    const double start = lab.seconds();
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 10; ++k)
            lab.network.send(links[static_cast<std::size_t>(i)], frame_of(100'000));
    }
    lab.run_for(50ms);
    lab.network.send(links[4], frame_of(100));
    lab.run();
    std::map<NodeId, double> last;
    for (const Heard& one : lab.heard) {
        if (std::holds_alternative<event::FrameReceived>(one.event)) {
            last[one.node] =
                std::chrono::duration<double>(one.when.time_since_epoch()).count() - start;
        }
    }
    for (NodeId b = 1; b <= 4; ++b) REQUIRE(last[b] == Approx(4.0).margin(0.35));
    REQUIRE(last[5] < 0.15);  // the frame being sent, and a latency
}

TEST_CASE("a slow receiver delays only its sender's link and only after a window", "[net][sim]") {
    Lab lab{{.window_bytes = 1 << 20, .frame_overhead = 0, .dial_timeout = 5s}};
    const NodeId a = lab.add(100 * kMB, kMB), slow = lab.add(kMB, 0.1 * kMB);
    const NodeId fast = lab.add(kMB, 100 * kMB);
    const LinkId to_slow = lab.connect(a, slow), to_fast = lab.connect(a, fast);
    for (int k = 0; k < 40; ++k) {
        lab.network.send(to_slow, frame_of(100'000));
        lab.network.send(to_fast, frame_of(100'000));
    }
    lab.run_for(1s);
    REQUIRE(lab.all<event::FrameReceived>(fast).size() == 40);
    const auto taken = lab.all<event::FrameReceived>(slow).size();
    REQUIRE(taken <= 1);
    REQUIRE(lab.all<event::FrameWritten>(a).size() <= 40 + taken + 10);
    REQUIRE(lab.network.queued_bytes(to_slow) >= 2'800'000);
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(slow).size() == 40);
    REQUIRE(lab.network.queued_bytes(to_slow) == 0);
}

TEST_CASE("many senders share a downlink that is never idle", "[net][sim]") {
    Lab lab{{.window_bytes = 1 << 20, .frame_overhead = 0, .dial_timeout = 5s}};
    const NodeId sink = lab.add(kMB, kMB);
    std::vector<LinkId> links;
    for (int i = 0; i < 8; ++i) links.push_back(lab.connect(lab.add(kMB, kMB), sink));
    const double start = lab.seconds();
    for (int k = 0; k < 10; ++k) {
        for (const LinkId link : links) lab.network.send(link, frame_of(50'000));
    }
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(sink).size() == 80);
    REQUIRE(lab.seconds() - start == Approx(4.0).margin(0.1));
}

TEST_CASE("frames of a link arrive whole and in order whatever the jitter", "[net][sim]") {
    Timeline timeline;
    struct Order final : NetworkSink {
        void happened(NodeId node, const Event& event) override {
            if (const auto* opened = std::get_if<event::LinkOpened>(&event)) {
                if (node == 0) link = opened->link;
            } else if (const auto* received = std::get_if<event::FrameReceived>(&event)) {
                sizes.push_back(received->frame->size());
            }
        }
        LinkId link;
        std::vector<std::size_t> sizes;
    } sink;
    Network network{timeline, sink, Random{1}, {}};
    for (std::uint16_t i = 0; i < 2; ++i) {
        network.add_node({.upload_bytes_per_second = kMB,
                          .download_bytes_per_second = kMB,
                          .latency = 5ms,
                          .jitter = 50ms},
                         Lab::address(i));
        network.start(i);
    }
    network.dial(0, Lab::address(1));
    const auto run = [&] {
        while (!timeline.is_empty()) network.handle(timeline.pop());
    };
    run();
    for (std::size_t k = 1; k <= 200; ++k) network.send(sink.link, frame_of(k));
    run();
    REQUIRE(sink.sizes.size() == 200);
    for (std::size_t k = 1; k <= 200; ++k) REQUIRE(sink.sizes[k - 1] == k);
}

TEST_CASE("frames sent before a close are delivered and each end is told once", "[net][sim]") {
    Lab lab;
    const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB);
    const LinkId link = lab.connect(a, b);
    for (int k = 0; k < 5; ++k) lab.network.send(link, frame_of(10'000));
    lab.network.close(link);
    lab.network.send(link, frame_of(10'000));
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(b).size() == 5);
    REQUIRE(lab.all<event::LinkClosed>(a).size() == 1);
    REQUIRE(lab.all<event::LinkClosed>(b).size() == 1);
    REQUIRE(lab.network.links_of(a).empty());
    REQUIRE(lab.network.links_of(b).empty());
}

TEST_CASE("a process that ends flushes or loses its queued frames", "[net][sim]") {
    for (const auto& [exit, min, max] :
         {std::tuple{Exit::kFlushed, 5, 5}, {Exit::kCutOff, 0, 2}, {Exit::kSilent, 0, 2}}) {
        Lab lab;
        const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB);
        const LinkId link = lab.connect(a, b);
        for (int k = 0; k < 5; ++k) lab.network.send(link, frame_of(10'000));
        lab.run_for(15ms);
        lab.network.stop(a, exit);
        lab.run_for(19s);
        const std::size_t closes = exit == Exit::kSilent ? 0 : 1;
        REQUIRE(lab.all<event::LinkClosed>(b).size() == closes);
        lab.run();
        const auto received = static_cast<int>(lab.all<event::FrameReceived>(b).size());
        REQUIRE(received >= min);
        REQUIRE(received <= max);
        REQUIRE(lab.all<event::LinkClosed>(b).size() == 1);
        REQUIRE(lab.all<event::LinkClosed>(a).empty());
    }
}

TEST_CASE("both ends are told of a cut; a silent cut is noticed first by the end that sends",
          "[net][sim]") {
    for (const bool is_silent : {false, true}) {
        Lab lab;
        const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB);
        const LinkId link = lab.connect(a, b);
        lab.network.send(link, frame_of(500'000));
        lab.run_for(100ms);
        is_silent ? lab.network.silent_cut(link) : lab.network.cut(link);
        lab.network.send(link, frame_of(10'000));
        const auto closes = [&](NodeId node) { return lab.all<event::LinkClosed>(node).size(); };
        lab.run_for(4s);
        REQUIRE(closes(a) == (is_silent ? 0 : 1));
        REQUIRE(closes(b) == (is_silent ? 0 : 1));
        lab.run_for(1s);
        REQUIRE(closes(a) == 1);
        REQUIRE(closes(b) == (is_silent ? 0 : 1));
        lab.run_for(14s);
        REQUIRE(closes(b) == (is_silent ? 0 : 1));
        lab.run();
        REQUIRE(closes(a) == 1);
        REQUIRE(closes(b) == 1);
        REQUIRE(lab.all<event::FrameReceived>(b).empty());
    }
}

TEST_CASE("a partition ends links for good and makes dials fail until it heals", "[net][sim]") {
    Lab lab;
    const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB), c = lab.add(kMB, kMB);
    const LinkId link = lab.connect(a, b), beside = lab.connect(a, c);
    lab.network.set_group(b, 1);
    lab.network.send(link, frame_of(100));
    lab.network.send(beside, frame_of(100));
    lab.network.dial(a, Lab::address(b));
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(b).empty());
    REQUIRE(lab.all<event::FrameReceived>(c).size() == 1);
    REQUIRE(lab.all<event::DialFailed>(a).size() == 1);
    lab.network.set_group(b, 0);
    lab.network.send(link, frame_of(100));
    const LinkId again = lab.connect(a, b);
    lab.network.send(again, frame_of(200));
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(b).size() == 1);
    REQUIRE(lab.all<event::FrameReceived>(b)[0].frame->size() == 200);
}

TEST_CASE("a process that hangs is sent one window and reads it when it wakes", "[net][sim]") {
    Lab lab;
    const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB);
    const LinkId link = lab.connect(a, b);
    lab.network.set_reading(b, false);
    for (int k = 0; k < 30; ++k) lab.network.send(link, frame_of(100'000));
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(b).empty());
    REQUIRE(lab.all<event::FrameWritten>(a).size() == 10);
    lab.network.set_reading(b, true);
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(b).size() == 30);
}

TEST_CASE("when one direction of a link is lost the other stops after a window", "[net][sim]") {
    Lab lab;
    const NodeId a = lab.add(kMB, kMB), b = lab.add(kMB, kMB);
    const LinkId from_a = lab.connect(a, b);
    const LinkId from_b = lab.all<event::LinkOpened>(b)[0].link;
    lab.network.set_blocked(a, b, true);
    lab.network.send(from_a, frame_of(100));
    for (int k = 0; k < 30; ++k) lab.network.send(from_b, frame_of(100'000));
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(b).empty());
    REQUIRE(lab.all<event::FrameReceived>(a).size() == 10);
}

TEST_CASE("a thousand senders and a hundred receivers cost little per frame",
          "[net][sim][!benchmark]") {
    Lab lab;
    std::vector<NodeId> ids;
    for (int i = 0; i < 1'000; ++i) ids.push_back(lab.add(12.5 * kMB, 12.5 * kMB));
    for (NodeId from = 0; from < 1'000; ++from) {
        for (NodeId to = 0; to < 128; ++to) lab.network.dial(from, Lab::address(to));
    }
    lab.run();
    std::vector<LinkId> links;
    for (const Heard& one : lab.heard) {
        const auto* opened = std::get_if<event::LinkOpened>(&one.event);
        if (opened != nullptr && opened->dialled) links.push_back(opened->link);
    }
    lab.heard.clear();
    const SharedBytes frame = frame_of(65'536);
    for (const LinkId link : links) lab.network.send(link, frame);
    lab.run();
    REQUIRE(lab.heard.size() == 2 * 128'000);
}

TEST_CASE("a flow starts slowly, also after a pause", "[net][sim]") {
    NetworkOptions options{.frame_overhead = 0};
    options.tcp.packet_bytes = 1'448;
    Lab lab{options};
    const NodeId a = lab.add(12.5 * kMB, kMB, 50ms), b = lab.add(kMB, 100 * kMB, 50ms);
    const LinkId link = lab.connect(a, b);
    const auto time_of_frame = [&] {
        const double start = lab.seconds();
        const std::size_t before = lab.all<event::FrameReceived>(b).size();
        lab.network.send(link, frame_of(1'000'000));
        while (lab.all<event::FrameReceived>(b).size() == before) lab.run_for(1ms);
        return lab.seconds() - start;
    };
    // Windows of 10, 20, … 320 packets carry 912,240 bytes in six round trips of 0.2 s.
    CHECK(time_of_frame() == Approx(6.095 * 0.2 + 0.1).margin(0.02));
    // The window has become 1,014,480 bytes.
    CHECK(time_of_frame() == Approx(0.986 * 0.2 + 0.1).margin(0.02));
    lab.run_for(2s);
    CHECK(time_of_frame() == Approx(6.095 * 0.2 + 0.1).margin(0.02));
}

TEST_CASE("loss limits a flow to sqrt(1.5 / loss) packets a round trip", "[net][sim]") {
    for (const std::uint32_t flows : {1U, 4U}) {
        NetworkOptions options{.frame_overhead = 0};
        options.tcp = {.packet_bytes = 1'448, .loss = 0.01, .flows = flows};
        Lab lab{options};
        const NodeId a = lab.add(12.5 * kMB, kMB, 50ms), b = lab.add(kMB, 12.5 * kMB, 50ms);
        const LinkId link = lab.connect(a, b);
        constexpr std::size_t kFrame = 262'144, kFrames = 200;
        for (std::size_t k = 0; k < kFrames; ++k) lab.network.send(link, frame_of(kFrame));
        const double start = lab.seconds();
        lab.run();
        const double rate = static_cast<double>(kFrames * kFrame) / (lab.seconds() - start);
        const double known = 1'448 * std::sqrt(1.5 / 0.01) / 0.2 * flows;  // RFC 9438, 5.1
        INFO(flows << " flows: " << rate << " bytes/s, by the formula " << known);
        CHECK(rate > 0.8 * known);
        CHECK(rate < 1.25 * known);
    }
}

TEST_CASE("a link that loses packets delays no other link of its machine", "[net][sim]") {
    NetworkOptions options{.frame_overhead = 0};
    options.tcp = {.packet_bytes = 1'448, .loss = 0.05};
    Lab lab{options};
    const NodeId a = lab.add(kMB, kMB, 1ms), far = lab.add(kMB, kMB, 200ms);
    const NodeId near = lab.add(kMB, kMB, 1ms);
    const LinkId to_far = lab.connect(a, far), to_near = lab.connect(a, near);
    lab.network.send(to_far, frame_of(1'000'000));
    lab.network.send(to_near, frame_of(1'000'000));
    lab.run();
    REQUIRE(lab.all<event::FrameReceived>(near).size() == 1);
    TimePoint near_at, far_at;
    for (const Heard& one : lab.heard) {
        if (!std::holds_alternative<event::FrameReceived>(one.event)) continue;
        (one.node == near ? near_at : far_at) = one.when;
    }
    CHECK(far_at > near_at + 5s);
    CHECK(near_at < TimePoint{} + 4s);
}
