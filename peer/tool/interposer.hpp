// Interface of a part between a member's peer and its transport and trainer. dedloc-peer has none;
// tests place an adversary there (tests/swarm/hostile_transport.hpp).
#pragma once

#include <functional>
#include <memory>

#include "peer/formats/run_file.hpp"
#include "peer/net/transport.hpp"
#include "peer/trainer.hpp"

namespace dedloc::tool {

struct StayOptions;

/// Sees all frames of a peer and all events for it, and may change them.
class Interposer {
  public:
    virtual ~Interposer() = default;
    /// A sink for events of transport and trainer; those for the peer go on to `sink`. The
    /// interposer outlives it. Called several times. Thread of the sink: that of its caller.
    virtual EventSink sink(EventSink sink) = 0;
    /// The transport that the reactor uses in place of `transport`, which outlives the reactor.
    /// Called once.
    virtual net::Transport& transport(net::Transport& transport) = 0;
};

/// Makes the interposer of a stay; null: none. Errors: InputError (it is not for such a stay).
using MakeInterposer =
    std::function<std::unique_ptr<Interposer>(const formats::RunFile&, const StayOptions&)>;

}  // namespace dedloc::tool
