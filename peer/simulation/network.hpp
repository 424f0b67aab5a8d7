// A network in virtual time, as a Peer sees it: links are reliable streams that deliver whole
// frames in order, between machines with one uplink and one downlink each. It knows nothing of the
// protocol.
//
// Bandwidth  Each uplink and each downlink serves its links by self-clocked fair queueing of whole
//            frames: the frame that a bit-by-bit round robin would finish first is served first.
//            Streams share a machine's bandwidth as TCP streams do, and a heartbeat waits for at
//            most one bulk frame.
// Window     At most `window_bytes` of a link are under way: sent, but not yet received by the
//            downlink. A slow receiver throttles its own senders only.
// Streaming  The downlink receives a frame while the uplink still sends it. A receiver with a fast
//            and free downlink has the frame one latency after its last byte was sent.
// Sealing    A machine that needs time to seal and open frames does one at a time, in the order in
//            which its uplink and downlink begin with them.
// Timeouts   Both ends ping each other, at no cost. An end that receives nothing any more closes
//            the link after `idle_timeout`, like a transport that pings idle links rarely, or
//            `failure_timeout` after it has sent a frame.
// Loss       With NetworkOptions::tcp a link has a congestion window (tcp_flow.hpp) in each
//            direction, which delays its own frames and not those of the machine's other links.
// Left out   Queues inside the network, and the bytes of acknowledgements. Each frame costs
//            `frame_overhead` bytes in addition to its own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/events.hpp"
#include "peer/simulation/frame_queue.hpp"
#include "peer/simulation/tcp_flow.hpp"
#include "peer/simulation/timeline.hpp"

namespace dedloc::simulation {

/// A simulated machine; they are numbered from 0.
using NodeId = std::uint32_t;

/// A machine's connection to the network. The latency between two machines is the sum of theirs.
struct Connection {
    double upload_bytes_per_second = 12.5e6;           ///< above 0
    double download_bytes_per_second = 12.5e6;         ///< above 0
    Duration latency = std::chrono::milliseconds{10};  ///< this end's share of the one-way latency
    Duration jitter = std::chrono::milliseconds{2};    ///< its share of a frame's max. extra delay
    /// Bytes that its transport seals and opens in a second, one frame at a time; 0: that takes no
    /// time.
    double sealed_bytes_per_second = 0;
    bool is_outbound_only = false;  ///< cannot be dialled: dials time out
};

/// Properties of all links.
struct NetworkOptions {
    std::uint64_t window_bytes = 1 << 20;             ///< max. bytes of a link that are under way
    std::uint64_t frame_overhead = 66;                ///< bytes
    Duration dial_timeout = std::chrono::seconds{5};  ///< for dials that are not answered
    Duration failure_timeout =
        std::chrono::milliseconds{4'500};  ///< after the first frame sent on a dead link
    Duration idle_timeout = std::chrono::seconds{20};  ///< for a dead link on which none is sent
    TcpOptions tcp{};                                  ///< without one links lose nothing
};

/// How a process ends.
enum class Exit : std::uint8_t {
    kFlushed,  ///< all frames given to the network are sent, then the links close
    kCutOff,   ///< frames that have not been sent are lost, then the links close
    kSilent,   ///< the machine is gone: its links stay silent until the other ends time out
};

/// Receives what happens to the nodes.
class NetworkSink {
  public:
    virtual ~NetworkSink() = default;
    /// The node receives LinkOpened, LinkClosed, DialFailed, FrameWritten or FrameReceived. May
    /// call the network.
    virtual void happened(NodeId node, const Event& event) = 0;
};

/// What a node has sent and received so far.
struct Traffic {
    // Bytes include the overhead of each frame.
    std::uint64_t frames_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t bytes_received = 0;
};

/// All machines and links of a world.
class Network {
  public:
    /// `timeline` and `sink` must outlive it. The caller passes every moment of the timeline for
    /// which is_mine() holds to handle().
    Network(Timeline& timeline, NetworkSink& sink, Random random, const NetworkOptions& options);

    /// Whether moments of this kind are the network's.
    static bool is_mine(What what) { return what <= What::kClosed; }
    /// Handles a moment of the network.
    void handle(const Moment& moment);

    /// Adds a machine whose process does not run yet. Requires bandwidths above 0 and a new
    /// endpoint (DEDLOC_CHECK).
    NodeId add_node(const Connection& connection, const Endpoint& endpoint);
    void start(NodeId node);            ///< its process starts and listens
    void stop(NodeId node, Exit exit);  ///< its process ends and receives no more events
    /// Suspends or resumes the process: meanwhile its machine still sends queued frames and accepts
    /// links, but the process reads nothing.
    void set_reading(NodeId node, bool reads);

    // Actions of a Peer.
    void dial(NodeId from, const Endpoint& remote);  ///< answers LinkOpened or DialFailed
    void send(LinkId link, SharedBytes frame);       ///< does nothing on a closed link
    void close(LinkId link);                         ///< sends queued frames first

    // Faults.
    void cut(LinkId link);  ///< both ends are told after a latency; frames under way are lost
    void silent_cut(LinkId link);  ///< no frame arrives any more; neither end is told: see Timeouts
    /// Machines of different groups cannot reach each other: their links are dead for good, and
    /// dials between them time out until they are in one group again. All start in group 0.
    void set_group(NodeId node, std::uint32_t group);
    /// While blocked, frames from `from` to `to` are lost, and links that exist at the beginning
    /// stay dead in that direction for good.
    void set_blocked(NodeId from, NodeId to, bool is_blocked);
    /// This machine acknowledges no frame that it receives from now on: windows to it stay full.
    void never_acknowledge(NodeId node) { nodes_[node].acknowledges = false; }
    /// Changes the bandwidths, in bytes per second, for frames that start from now on. Requires
    /// values above 0 (DEDLOC_CHECK).
    void set_bandwidth(NodeId node, double upload, double download);
    /// Whether dials to this machine succeed from now on.
    void set_dialable(NodeId node, bool is_dialable) {
        nodes_[node].connection.is_outbound_only = !is_dialable;
    }
    /// The machine's present connection.
    const Connection& connection(NodeId node) const { return nodes_[node].connection; }

    std::vector<LinkId> links_of(NodeId node) const;  ///< its open links, ascending
    /// The machine of this end of the link.
    NodeId owner_of(LinkId link) const { return end(link).node; }
    /// The machine of the other end.
    NodeId remote_of(LinkId link) const { return end(end(link).other).node; }
    /// Bytes that this end has not sent yet, without overhead.
    std::uint64_t queued_bytes(LinkId link) const { return end(link).queued_bytes; }
    /// What the node has sent and received.
    const Traffic& traffic(NodeId node) const { return nodes_[node].traffic; }
    /// Number of machines.
    std::size_t node_count() const { return nodes_.size(); }

  private:
    enum class State : std::uint8_t {
        kOpening,   ///< dialled by the other end, not accepted yet
        kOpen,      ///< frames may be sent and received
        kDraining,  ///< closed by this end; queued frames are still sent
        kClosed     ///< nothing is sent or received
    };
    /// One end of a link, and all frames that this end has sent.
    struct End {
        NodeId node = 0;
        LinkId other;
        Endpoint remote;
        State state = State::kOpening;
        bool is_dialled = false;
        bool is_dead = false;  ///< frames from this end are lost
        bool is_unacknowledged =
            false;                     ///< frames from this end arrive, but their window stays full
        bool is_asking = false;        ///< has sent a frame since the other end's are lost
        bool is_told_of_close = true;  ///< will receive LinkClosed when the link ends
        bool is_in_uplink = false;     ///< waits in the sender's fair queue, or is being served
        bool is_in_downlink = false;   ///< the same at the receiver
        FrameQueue queued;             ///< not sent yet; the first one may be being served
        FrameQueue in_the_air;         ///< between uplink and downlink; null: end of the stream
        FrameQueue arrived;            ///< waiting for the receiver's downlink
        std::uint64_t queued_bytes = 0;
        std::uint64_t under_way = 0;     ///< bytes sent and not yet received
        std::uint64_t uplink_tag = 0;    ///< virtual finish time of its last frame in the uplink
        std::uint64_t downlink_tag = 0;  ///< the same in the downlink
        TimePoint last_arrival;          ///< arrival of its last frame; keeps frames in order
        TcpFlow flow;                    ///< its congestion window
        TimePoint flow_ready;            ///< its next frame may begin to be sent
    };
    /// A machine's uplink or downlink: a fair queue of links, one of which is being served.
    struct Lane {
        struct Waiting {
            std::uint64_t tag;    ///< virtual finish time of the link's next frame
            std::uint64_t order;  ///< breaks ties
            LinkId link;
        };
        bool is_busy = false;
        LinkId serving;
        std::uint64_t virtual_time = 0;  ///< tag of the frame that was served last
        std::uint64_t next_order = 0;
        std::vector<Waiting> heap;

        static bool is_later(const Waiting& a, const Waiting& b) {
            return std::pair{a.tag, a.order} > std::pair{b.tag, b.order};
        }
        void push(LinkId link, std::uint64_t& tag, std::uint64_t bytes);
        LinkId pop();
    };
    struct Node {
        Connection connection;
        Endpoint endpoint;
        std::uint64_t life = 0;  ///< number of starts
        bool is_up = false;      ///< the process runs
        bool is_gone = false;    ///< the machine is gone, not only the process
        bool reads = true;
        bool acknowledges = true;
        std::uint32_t group = 0;
        TimePoint sealed_until{};  ///< its transport is free again
        Lane up, down;
        std::set<LinkId> links;
        Traffic traffic;
    };
    struct Dialling {
        NodeId from;
        std::uint64_t life;
        Endpoint remote;
        bool may_succeed;  ///< the other machine answers: with a link, or with a refusal
    };

    End& end(LinkId link) { return ends_[link.value() - 1]; }
    const End& end(LinkId link) const { return ends_[link.value() - 1]; }
    bool reaches(NodeId from, NodeId to) const;
    Duration latency(NodeId from, NodeId to) const;
    Duration jitter(NodeId from, NodeId to);
    std::uint64_t cost(const SharedBytes& frame) const;
    TimePoint sealed_at(Node& node, const SharedBytes& frame);
    bool is_sendable(const End& from) const;
    void offer_uplink(LinkId link);
    void offer_downlink(LinkId link);
    void pump_up(NodeId node);
    void pump_down(NodeId node);
    void fall_silent(LinkId link);
    void finish_stream(LinkId link);
    void lose_queue(LinkId link);
    void shut(LinkId link, State state);
    void tell_closed(LinkId link, TimePoint when);

    void uplink_done(NodeId node, LinkId link);
    void arrival(LinkId link);
    void downlink_done(NodeId node, LinkId link);
    void stream_ended(LinkId link);
    void dial_done(const Dialling& dialling);
    void connect(NodeId from, NodeId to, const Endpoint& remote);
    void accepted(LinkId link);
    void heard_nothing(LinkId link);
    void closed(LinkId link);

    Timeline& timeline_;
    NetworkSink& sink_;
    Random random_;
    const NetworkOptions options_;
    std::vector<Node> nodes_;
    std::deque<End> ends_;  ///< link k is at index k − 1
    std::deque<Dialling> dials_;
    std::map<Endpoint, NodeId> at_endpoint_;
    std::set<std::pair<NodeId, NodeId>> blocked_;
};

}  // namespace dedloc::simulation
