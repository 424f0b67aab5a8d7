// A network in virtual time, as a Peer sees it: reliable byte streams that carry whole frames in
// order, over machines with an uplink and a downlink each. It knows nothing of the protocol.
//
// Bandwidth  Each machine's uplink serves its links by fair queueing at frame granularity
//            (self-clocked: the frame that a bit by bit round robin would finish first goes first),
//            and so does its downlink. Many streams share a machine's bandwidth as TCP streams do,
//            and a heartbeat waits for one bulk frame, not for all of them.
// Window     At most `window_bytes` of a link are under way: sent, and not yet taken by the
//            receiver's downlink. A slow receiver throttles its senders and nobody else.
// Streaming  The receiver takes a frame while it is being sent: it has all of it one latency after
//            the last byte has left, if its downlink is fast and free.
// Silence    Both ends ping each other, at no cost: the one that hears nothing any more closes the
//            link, after as long as a real transport takes that pings an idle link seldom, and
//            sooner if it has something to say.
// Left out   Slow start, congestion inside the network, and acknowledgements' bytes; every frame
//            costs `frame_overhead` bytes more than it holds.
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
#include "peer/simulation/timeline.hpp"

namespace dedloc::simulation {

using NodeId = std::uint32_t;

/// A machine's connection to the network. The latency of a pair is the sum of both ends'.
struct Connection {
    double upload_bytes_per_second = 12.5e6;
    double download_bytes_per_second = 12.5e6;
    Duration latency = std::chrono::milliseconds{10};
    Duration jitter = std::chrono::milliseconds{2};
    bool is_outbound_only = false;  ///< cannot be dialled: dials time out
};

struct NetworkOptions {
    std::uint64_t window_bytes = 1 << 20;
    std::uint64_t frame_overhead = 66;
    Duration dial_timeout = std::chrono::seconds{5};
    Duration failure_timeout =
        std::chrono::milliseconds{4'500};              ///< from the first frame that is sent
    Duration idle_timeout = std::chrono::seconds{20};  ///< when none is sent
};

/// How a process goes.
enum class Exit : std::uint8_t {
    kFlushed,  ///< what was given to the network is still sent, then the links close
    kCutOff,   ///< what has not left is lost, then the links close
    kSilent,   ///< the machine is gone: nobody is told
};

/// Who is told what happened to the node: LinkOpened, LinkClosed, DialFailed, FrameWritten or
/// FrameReceived. May call the network back.
class NetworkSink {
  public:
    virtual ~NetworkSink() = default;
    virtual void happened(NodeId node, const Event& event) = 0;
};

struct Traffic {
    std::uint64_t frames_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t bytes_received = 0;
};

class Network {
  public:
    /// `timeline` and `sink` must outlive it. Whoever drives the timeline gives every moment that
    /// is_mine() to handle().
    Network(Timeline& timeline, NetworkSink& sink, Random random, const NetworkOptions& options);

    static bool is_mine(What what) { return what <= What::kClosed; }
    void handle(const Moment& moment);

    /// A machine whose process does not run yet. Requires bandwidths above 0.
    NodeId add_node(const Connection& connection, const Endpoint& endpoint);
    void start(NodeId node);            ///< its process runs and listens
    void stop(NodeId node, Exit exit);  ///< its process is gone; it is told nothing any more
    /// A process that is stopped but not gone: its machine sends what it was given and accepts
    /// links, and it reads nothing until it may.
    void set_reading(NodeId node, bool reads);

    // What a Peer asks for.
    void dial(NodeId from, const Endpoint& remote);
    void send(LinkId link, SharedBytes frame);  ///< nothing happens on a closed link
    void close(LinkId link);

    // What goes wrong.
    void cut(LinkId link);  ///< both ends hear of it after a latency; what was under way is lost
    void silent_cut(LinkId link);  ///< nothing arrives any more, nobody is told: see Silence
    /// Machines of different groups do not reach each other: their links are dead for good, and
    /// dials between them time out until they are in one group again. All start in group 0.
    void set_group(NodeId node, std::uint32_t group);
    /// What `from` sends to `to` is lost from now on, or not any more; the links between them that
    /// there are stay dead in that direction.
    void set_blocked(NodeId from, NodeId to, bool is_blocked);
    /// Of every frame that starts from now on. Requires bandwidths above 0.
    void set_bandwidth(NodeId node, double upload, double download);
    const Connection& connection(NodeId node) const { return nodes_[node].connection; }

    std::vector<LinkId> links_of(NodeId node) const;  ///< the open ones, ascending
    NodeId owner_of(LinkId link) const { return end(link).node; }
    NodeId remote_of(LinkId link) const { return end(end(link).other).node; }
    std::uint64_t queued_bytes(LinkId link) const { return end(link).queued_bytes; }
    const Traffic& traffic(NodeId node) const { return nodes_[node].traffic; }
    std::size_t node_count() const { return nodes_.size(); }

  private:
    enum class State : std::uint8_t { kOpening, kOpen, kDraining, kClosed };
    /// One end of a link, with everything that this end has sent.
    struct End {
        NodeId node = 0;
        LinkId other;
        Endpoint remote;
        State state = State::kOpening;
        bool is_dialled = false;
        bool is_dead = false;            ///< what it sends is lost
        bool is_unacknowledged = false;  ///< what it sends arrives, but it never learns of it
        bool is_asking = false;          ///< has sent since it hears nothing any more
        bool is_told_of_close = true;
        bool is_in_uplink = false;    ///< waits in the sender's fair queue or is served
        bool is_in_downlink = false;  ///< the same at the receiver
        FrameQueue queued;            ///< not yet sent; the first may be being served
        FrameQueue in_the_air;        ///< a null frame is the end of the stream
        FrameQueue arrived;           ///< not yet taken by the receiver's downlink
        std::uint64_t queued_bytes = 0;
        std::uint64_t under_way = 0;
        std::uint64_t uplink_tag = 0;  ///< virtual finish of its last frame in the fair queue
        std::uint64_t downlink_tag = 0;
        TimePoint last_arrival;
    };
    /// A machine's uplink or downlink: a fair queue of links, one of them being served.
    struct Lane {
        struct Waiting {
            std::uint64_t tag;
            std::uint64_t order;
            LinkId link;
        };
        bool is_busy = false;
        LinkId serving;
        std::uint64_t virtual_time = 0;
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
        std::uint64_t life = 0;
        bool is_up = false;
        bool is_gone = false;  ///< the machine, not only the process
        bool reads = true;
        std::uint32_t group = 0;
        Lane up, down;
        std::set<LinkId> links;
        Traffic traffic;
    };
    struct Dialling {
        NodeId from;
        std::uint64_t life;
        Endpoint remote;
        bool may_succeed;
    };

    End& end(LinkId link) { return ends_[link.value() - 1]; }
    const End& end(LinkId link) const { return ends_[link.value() - 1]; }
    bool reaches(NodeId from, NodeId to) const;
    Duration latency(NodeId from, NodeId to) const;
    Duration jitter(NodeId from, NodeId to);
    std::uint64_t cost(const SharedBytes& frame) const;
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
    std::deque<End> ends_;  ///< link k is at k − 1
    std::deque<Dialling> dials_;
    std::map<Endpoint, NodeId> at_endpoint_;
    std::set<std::pair<NodeId, NodeId>> blocked_;
};

}  // namespace dedloc::simulation
