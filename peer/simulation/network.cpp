// A frame passes three queues of its sending end: queued (until the uplink has sent it), in_the_air
// (until it reaches the other machine) and arrived (until the downlink has received it). pump_up()
// and pump_down() start the next frame of a free lane and schedule its end. A cut empties queues
// while moments for their frames are still scheduled; so every handler first checks whether its
// queue is empty, and the frame lost.
#include "peer/simulation/network.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::simulation {
namespace {

Duration time_for(std::uint64_t bytes, double bytes_per_second) {
    return Duration{static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_per_second * 1e9)};
}

}  // namespace

// --- fair queueing -----------------------------------------------------------

void Network::Lane::push(LinkId link, std::uint64_t& tag, std::uint64_t bytes) {
    tag = std::max(tag, virtual_time) + bytes;
    heap.push_back({tag, next_order++, link});
    std::push_heap(heap.begin(), heap.end(), is_later);
}

LinkId Network::Lane::pop() {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const Waiting first = heap.back();
    heap.pop_back();
    virtual_time = first.tag;
    return first.link;
}

// --- machines ----------------------------------------------------------------

Network::Network(Timeline& timeline, NetworkSink& sink, Random random,
                 const NetworkOptions& options)
    : timeline_(timeline), sink_(sink), random_(random), options_(options) {}

NodeId Network::add_node(const Connection& connection, const Endpoint& endpoint) {
    DEDLOC_CHECK(connection.upload_bytes_per_second > 0 && connection.download_bytes_per_second > 0,
                 "a connection has a bandwidth above 0 in both directions");
    const auto id = static_cast<NodeId>(nodes_.size());
    DEDLOC_CHECK(at_endpoint_.emplace(endpoint, id).second, "two machines at one address");
    nodes_.push_back({.connection = connection,
                      .endpoint = endpoint,
                      .up = {},
                      .down = {},
                      .links = {},
                      .traffic = {}});
    return id;
}

void Network::start(NodeId node) {
    DEDLOC_CHECK(!nodes_[node].is_up, "a process is started only if it does not run");
    ++nodes_[node].life;
    nodes_[node].is_up = true;
    nodes_[node].is_gone = false;
    nodes_[node].reads = true;
}

void Network::stop(NodeId id, Exit exit) {
    Node& node = nodes_[id];
    node.is_up = false;
    node.is_gone = exit == Exit::kSilent;
    for (const LinkId link : std::exchange(node.links, {})) {
        End& here = end(link);
        here.is_told_of_close = false;
        here.state = State::kDraining;
        if (exit == Exit::kSilent) {
            silent_cut(link);
            lose_queue(link);
            here.state = State::kClosed;
        } else if (exit == Exit::kCutOff) {
            lose_queue(link);
            finish_stream(link);
        } else if (here.queued.is_empty()) {
            finish_stream(link);
        }
    }
}

void Network::set_reading(NodeId id, bool reads) {
    Node& node = nodes_[id];
    node.reads = reads;
    if (!reads) return;
    for (const LinkId link : node.links) offer_downlink(end(link).other);
    pump_down(id);
}

std::vector<LinkId> Network::links_of(NodeId node) const {
    std::vector<LinkId> open;
    for (const LinkId link : nodes_[node].links) {
        if (end(link).state == State::kOpen) open.push_back(link);
    }
    return open;
}

bool Network::reaches(NodeId from, NodeId to) const {
    return nodes_[from].group == nodes_[to].group && !blocked_.contains({from, to});
}

Duration Network::latency(NodeId from, NodeId to) const {
    return nodes_[from].connection.latency + nodes_[to].connection.latency;
}

Duration Network::jitter(NodeId from, NodeId to) {
    const Duration max = nodes_[from].connection.jitter + nodes_[to].connection.jitter;
    if (max <= Duration{0}) return Duration{0};
    return Duration{
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(max.count())))};
}

std::uint64_t Network::cost(const SharedBytes& frame) const {
    return frame->size() + options_.frame_overhead;
}

/// When the machine has sealed or opened the frame, if it begins now.
TimePoint Network::sealed_at(Node& node, const SharedBytes& frame) {
    const double rate = node.connection.sealed_bytes_per_second;
    if (rate <= 0) return timeline_.now();
    node.sealed_until =
        std::max(node.sealed_until, timeline_.now()) + time_for(frame->size(), rate);
    return node.sealed_until;
}

// --- frames ------------------------------------------------------------------

void Network::handle(const Moment& moment) {
    const LinkId link{moment.detail};
    switch (moment.what) {
        case What::kUplinkDone:
            return uplink_done(moment.subject, link);
        case What::kArrival:
            return arrival(link);
        case What::kDownlinkDone:
            return downlink_done(moment.subject, link);
        case What::kDialDone:
            return dial_done(dials_[moment.detail]);
        case What::kAccepted:
            return accepted(link);
        case What::kSilence:
            return heard_nothing(link);
        case What::kFlowReady:
            offer_uplink(link);
            return pump_up(end(link).node);
        case What::kClosed:
            return closed(link);
        case What::kTick:
        case What::kCall:
            break;
    }
    DEDLOC_CHECK(false, "the network handles only moments of its own kinds");
}

void Network::send(LinkId link, SharedBytes frame) {
    End& from = end(link);
    DEDLOC_CHECK(frame != nullptr, "a frame to send is not null");
    if (from.state != State::kOpen) return;
    from.queued_bytes += frame->size();
    from.queued.push(std::move(frame));
    if (end(from.other).is_dead && !std::exchange(from.is_asking, true)) {
        timeline_.at(timeline_.now() + options_.failure_timeout, What::kSilence, 0, link.value());
    }
    offer_uplink(link);
    pump_up(from.node);
}

bool Network::is_sendable(const End& from) const {
    if (from.queued.is_empty() || timeline_.now() < from.flow_ready) return false;
    return from.under_way == 0 ||
           from.under_way + from.queued.front()->size() <= options_.window_bytes;
}

void Network::offer_uplink(LinkId link) {
    End& from = end(link);
    if (from.is_in_uplink || !is_sendable(from)) return;
    from.is_in_uplink = true;
    nodes_[from.node].up.push(link, from.uplink_tag, cost(from.queued.front()));
}

void Network::offer_downlink(LinkId link) {
    End& from = end(link);
    const NodeId receiver = end(from.other).node;
    if (from.is_in_downlink || from.arrived.is_empty() || !nodes_[receiver].reads) return;
    from.is_in_downlink = true;
    const SharedBytes& frame = from.arrived.front();
    nodes_[receiver].down.push(link, from.downlink_tag, frame == nullptr ? 0 : cost(frame));
}

void Network::pump_up(NodeId id) {
    Node& node = nodes_[id];
    while (!node.up.is_busy && !node.up.heap.empty()) {
        const LinkId link = node.up.pop();
        End& from = end(link);
        if (from.queued.is_empty()) {  // the frame was lost meanwhile
            from.is_in_uplink = false;
            continue;
        }
        node.up.is_busy = true;
        node.up.serving = link;
        const SharedBytes& frame = from.queued.front();
        from.under_way += frame->size();
        const TimePoint now = timeline_.now();
        const TimePoint done =
            std::max(now + time_for(cost(frame), node.connection.upload_bytes_per_second),
                     sealed_at(node, frame));
        timeline_.at(done, What::kUplinkDone, id, link.value());
        const NodeId to = end(from.other).node;
        Duration late{0};
        TimePoint last_byte = done;
        if (options_.tcp.packet_bytes > 0) {
            const auto times =
                from.flow.send(now, cost(frame), 2 * latency(id, to), options_.tcp, random_);
            from.flow_ready = now + times.sending;
            last_byte = std::max(done, from.flow_ready);
            late = times.late;
            timeline_.at(last_byte, What::kFlowReady, 0, link.value());
        }
        node.traffic.frames_sent += 1;
        node.traffic.bytes_sent += cost(frame);
        if (from.is_dead) continue;
        // The downlink may start early enough to finish together with the last byte.
        const TimePoint head = std::max(
            now,
            last_byte - time_for(cost(frame), nodes_[to].connection.download_bytes_per_second));
        from.in_the_air.push(frame);
        from.last_arrival =
            std::max(from.last_arrival, head + late + latency(id, to) + jitter(id, to));
        timeline_.at(from.last_arrival, What::kArrival, 0, link.value());
    }
}

void Network::uplink_done(NodeId id, LinkId link) {
    Node& node = nodes_[id];
    node.up.is_busy = false;
    End& from = end(link);
    from.is_in_uplink = false;
    const bool was_lost = from.queued.is_empty();  // the link was cut while the frame was sent
    if (!was_lost) {
        from.queued_bytes -= from.queued.pop()->size();
        offer_uplink(link);
        if (from.state == State::kDraining && from.queued.is_empty()) finish_stream(link);
    }
    pump_up(id);
    if (!was_lost && from.state == State::kOpen) sink_.happened(id, event::FrameWritten{link});
}

void Network::arrival(LinkId link) {
    End& from = end(link);
    if (from.in_the_air.is_empty()) return;  // the link was cut
    from.arrived.push(from.in_the_air.pop());
    offer_downlink(link);
    pump_down(end(from.other).node);
}

void Network::pump_down(NodeId id) {
    Node& node = nodes_[id];
    while (!node.down.is_busy && !node.down.heap.empty()) {
        const LinkId link = node.down.pop();
        End& from = end(link);
        if (from.arrived.is_empty() || !node.reads) {
            from.is_in_downlink = false;
            continue;
        }
        node.down.is_busy = true;
        node.down.serving = link;
        const SharedBytes& frame = from.arrived.front();
        TimePoint done = timeline_.now();
        if (frame != nullptr) {
            done = std::max(done + time_for(cost(frame), node.connection.download_bytes_per_second),
                            sealed_at(node, frame));
        }
        timeline_.at(done, What::kDownlinkDone, id, link.value());
    }
}

void Network::downlink_done(NodeId id, LinkId link) {
    Node& node = nodes_[id];
    node.down.is_busy = false;
    End& from = end(link);
    from.is_in_downlink = false;
    SharedBytes frame;
    const bool was_cut = from.arrived.is_empty();
    if (!was_cut) {
        frame = from.arrived.pop();
        if (frame != nullptr && !from.is_unacknowledged && node.acknowledges) {
            from.under_way -= std::min<std::uint64_t>(from.under_way, frame->size());
        }
        offer_downlink(link);
    }
    pump_down(id);
    if (was_cut) return;
    offer_uplink(link);
    pump_up(from.node);
    if (frame == nullptr) return stream_ended(link);
    if (end(from.other).state != State::kOpen) return;
    node.traffic.frames_received += 1;
    node.traffic.bytes_received += cost(frame);
    sink_.happened(id, event::FrameReceived{from.other, frame});
}

// --- links end ---------------------------------------------------------------

void Network::finish_stream(LinkId link) {
    End& from = end(link);
    if (from.is_dead) return;
    from.in_the_air.push(nullptr);
    from.last_arrival =
        std::max(from.last_arrival, timeline_.now() + latency(from.node, end(from.other).node));
    timeline_.at(from.last_arrival, What::kArrival, 0, link.value());
}

/// Drops all queued frames, and the frame that is being sent, which would arrive incomplete.
void Network::lose_queue(LinkId link) {
    End& from = end(link);
    const Lane& up = nodes_[from.node].up;
    if (up.is_busy && up.serving == link && !from.queued.is_empty() && !from.is_dead) {
        if (!from.in_the_air.is_empty()) {
            from.in_the_air.pop_back();
        } else if (!from.arrived.is_empty()) {
            from.arrived.pop_back();
        }
    }
    from.queued.clear();
    from.queued_bytes = 0;
}

/// Puts the end into a state in which it neither receives frames nor accepts new ones.
void Network::shut(LinkId link, State state) {
    End& here = end(link);
    here.state = state;
    nodes_[here.node].links.erase(link);
}

void Network::tell_closed(LinkId link, TimePoint when) {
    if (std::exchange(end(link).is_told_of_close, false)) {
        timeline_.at(when, What::kClosed, 0, link.value());
    }
}

void Network::close(LinkId link) {
    End& here = end(link);
    if (here.state != State::kOpen) return;
    shut(link, State::kDraining);
    tell_closed(link, timeline_.now());
    if (here.queued.is_empty()) finish_stream(link);
}

/// The receiver has received the end of this end's stream: closes the receiver's end.
void Network::stream_ended(LinkId link) {
    const LinkId here = end(link).other;
    if (end(here).state != State::kOpen) return;
    shut(here, State::kClosed);
    lose_queue(here);
    tell_closed(here, timeline_.now());
}

void Network::cut(LinkId link) {
    const LinkId other = end(link).other;
    const Duration delay = latency(end(link).node, end(other).node);
    silent_cut(link);
    for (const LinkId here : {link, other}) {
        if (end(here).state != State::kOpen && end(here).state != State::kOpening) continue;
        const bool was_open = end(here).state == State::kOpen;
        shut(here, State::kClosed);
        lose_queue(here);
        if (was_open) {
            tell_closed(here, timeline_.now() + delay + jitter(end(link).node, end(other).node));
        }
    }
}

void Network::silent_cut(LinkId link) {
    for (const LinkId here : {link, end(link).other}) {
        End& from = end(here);
        from.arrived.clear();
        fall_silent(here);
    }
}

/// Neither frames nor pings of this end arrive any more.
void Network::fall_silent(LinkId link) {
    End& from = end(link);
    from.in_the_air.clear();
    if (std::exchange(from.is_dead, true)) return;
    timeline_.at(timeline_.now() + options_.idle_timeout, What::kSilence, 0, from.other.value());
}

void Network::heard_nothing(LinkId link) {
    if (end(link).state != State::kOpen) return;
    shut(link, State::kClosed);
    lose_queue(link);
    finish_stream(link);
    tell_closed(link, timeline_.now());
}

void Network::set_group(NodeId id, std::uint32_t group) {
    nodes_[id].group = group;
    const std::set<LinkId> links = nodes_[id].links;
    for (const LinkId link : links) {
        if (nodes_[end(end(link).other).node].group != group) silent_cut(link);
    }
}

void Network::set_blocked(NodeId from, NodeId to, bool is_blocked) {
    if (!is_blocked) {
        blocked_.erase({from, to});
        return;
    }
    blocked_.insert({from, to});
    for (const LinkId link : nodes_[from].links) {
        const LinkId other = end(link).other;
        if (end(other).node != to) continue;
        fall_silent(link);
        end(other).is_unacknowledged = true;
    }
}

void Network::set_bandwidth(NodeId id, double upload, double download) {
    DEDLOC_CHECK(upload > 0 && download > 0,
                 "a connection has a bandwidth above 0 in both directions");
    nodes_[id].connection.upload_bytes_per_second = upload;
    nodes_[id].connection.download_bytes_per_second = download;
}

void Network::closed(LinkId link) {
    sink_.happened(end(link).node, event::LinkClosed{link});
}

// --- dialling ----------------------------------------------------------------

void Network::dial(NodeId from, const Endpoint& remote) {
    const auto it = at_endpoint_.find(remote);
    const bool is_known = it != at_endpoint_.end();
    bool is_answered = is_known;
    Duration wait = 2 * nodes_[from].connection.latency;
    if (is_known) {
        const Node& to = nodes_[it->second];
        is_answered = !to.is_gone && reaches(from, it->second) && reaches(it->second, from) &&
                      (!to.connection.is_outbound_only || it->second == from);
        wait = 2 * latency(from, it->second) + jitter(from, it->second);
    }
    if (!is_answered) wait = options_.dial_timeout;
    dials_.push_back({from, nodes_[from].life, remote, is_answered});
    timeline_.at(timeline_.now() + wait, What::kDialDone, 0, dials_.size() - 1);
}

void Network::dial_done(const Dialling& dialling) {
    const NodeId from = dialling.from;
    if (!nodes_[from].is_up || nodes_[from].life != dialling.life) return;
    if (dialling.may_succeed) {
        const NodeId to = at_endpoint_.at(dialling.remote);
        if (nodes_[to].is_up && reaches(from, to) && reaches(to, from)) {
            return connect(from, to, dialling.remote);
        }
    }
    sink_.happened(from, event::DialFailed{dialling.remote});
}

void Network::connect(NodeId from, NodeId to, const Endpoint& remote) {
    const LinkId here{ends_.size() + 1};
    const LinkId there{ends_.size() + 2};
    const TimePoint now = timeline_.now();
    const TimePoint accepted_at = now + latency(from, to) + jitter(from, to);
    End& near = ends_.emplace_back();
    near.node = from;
    near.other = there;
    near.remote = remote;
    near.is_dialled = true;
    near.state = State::kOpen;
    near.last_arrival = accepted_at;
    End& far = ends_.emplace_back();
    far.node = to;
    far.other = here;
    far.remote = {nodes_[from].endpoint.host, 55'555};
    far.last_arrival = accepted_at;
    nodes_[from].links.insert(here);
    nodes_[to].links.insert(there);
    timeline_.at(accepted_at, What::kAccepted, 0, there.value());
    sink_.happened(from, event::LinkOpened{here, remote, true});
}

void Network::accepted(LinkId link) {
    End& here = end(link);
    if (here.state != State::kOpening) return;
    here.state = State::kOpen;
    sink_.happened(here.node, event::LinkOpened{link, here.remote, false});
}

}  // namespace dedloc::simulation
