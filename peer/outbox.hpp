// What the parts of a peer ask for while the peer handles one event: messages to peers (itself
// included) and actions for its driver. The core encodes and posts the messages after the event.
#pragma once

#include <utility>
#include <vector>

#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc {

/// One message and its receivers.
struct OutgoingMessage {
    std::vector<PeerKey> to;  ///< every receiver gets the same message
    StepIndex step;           ///< the step in the envelope
    wire::Body body;
};

/// Collects messages and actions, in the order in which they were asked for.
struct Outbox {
    std::vector<OutgoingMessage> messages;  ///< not encoded yet
    Actions actions;                        ///< for the driver

    /// Sends a message to one peer.
    void send(const PeerKey& to, StepIndex step, wire::Body body) {
        messages.push_back({{to}, step, std::move(body)});
    }
    /// Sends the same message to many peers: it is encoded once per kind of link.
    void send_to_all(std::vector<PeerKey> to, StepIndex step, wire::Body body) {
        messages.push_back({std::move(to), step, std::move(body)});
    }
    /// Asks the driver for an action.
    void act(Action action) { actions.push_back(std::move(action)); }
    /// Asks for one line in the log.
    void note(std::string line) { actions.push_back(action::Note{std::move(line)}); }
    /// Asks for one line in the log that accuses a peer.
    void accuse(const PeerKey& suspect, std::string line) {
        actions.push_back(action::Note{std::move(line), suspect});
    }
};

}  // namespace dedloc
