// More flows for links that loss limits. The dialler of a link opens all of its flows, since it can
// dial and the other end may be unreachable; the other end asks for them. Both use the same
// measurement, once a second. A link that could not be widened is tried again after a pause.
#include "peer/net/session/frame_codec.hpp"
#include "peer/net/tcp/tcp_transport_impl.hpp"

namespace dedloc::net {
namespace {

/// Pause between two attempts to widen a link.
constexpr std::chrono::seconds kWidenPause{30};

}  // namespace

void TcpTransport::Impl::widen_limited() {
    if (options_.max_flows < 2) return;
    for (auto& [id, entry] : links_) {
        if (entry.link->is_limited_by_loss(options_.probe)) widen(id);
    }
}

/// Dials more flows for the link, or asks its other end to dial them.
void TcpTransport::Impl::widen(LinkId id) {
    Entry& entry = links_.at(id);
    const auto now = std::chrono::steady_clock::now();
    if (!entry.ticket || entry.link->flows() > 1 || now < entry.widen_after) return;
    entry.widen_after = now + kWidenPause;
    refusals_.widened(entry.remote);
    if (!entry.is_dialled) return entry.link->ask_to_widen();
    const Endpoint remote = entry.remote;
    for (std::size_t flows = 1; flows < options_.max_flows; ++flows) {
        dials_.dial(remote, {.link = id}, has_flow_place() && has_dial_place());
    }
}

/// The other end asks for more flows, which only the dialler opens.
void TcpTransport::Impl::asked_to_widen(LinkId id) {
    if (options_.max_flows > 1 && links_.at(id).is_dialled) widen(id);
}

/// Judges an incoming flow.
NamedLink TcpTransport::Impl::find_link(const FlowToken& token) const {
    const auto named = by_token_.find(token);
    if (named == by_token_.end()) return {};
    const Entry& entry = links_.at(named->second);
    // Only the dialler of a link opens flows: its other end would be reflecting them.
    if (entry.is_dialled || entry.link->is_closing()) return {};
    if (entry.link->flows() >= options_.max_flows) return {.refusal = LinkRefusal::kFlowsTaken};
    if (!has_flow_place()) return {.refusal = LinkRefusal::kFull};
    return {.refusal = LinkRefusal::kNone, .secret = entry.flows};
}

/// Adds a connection that has proven that it belongs to a link.
void TcpTransport::Impl::attach(const Endpoint& remote, TcpHandshake& handshake) {
    const auto named = by_token_.find(handshake.flow()->token());
    if (named == by_token_.end()) return;  // the link has ended meanwhile
    const Entry& entry = links_.at(named->second);
    const auto link = entry.link;
    if (link->flows() >= kMaxFlows) {
        return refusals_.refused(remote, describe(LinkRefusal::kFlowsTaken));
    }
    FrameCodec codec = entry.is_sealed ? make_sealed_codec(handshake.flow()->keys(entry.cipher),
                                                           options_.limits.frame_bytes, pool_)
                                       : make_plain_codec(options_.limits.frame_bytes, pool_);
    TcpSocket socket = handshake.take_socket();
    watch_other_end(socket.native_handle());
    ++more_flows_;
    link->add_flow(std::move(socket), std::move(codec));
}

}  // namespace dedloc::net
