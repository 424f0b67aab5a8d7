// What the parts of a peer want done: messages to peers (itself included) and actions for its host.
#pragma once

#include <utility>
#include <vector>

#include "peer/events.hpp"
#include "peer/wire/message.hpp"

namespace dedloc {

struct OutgoingMessage {
    std::vector<PeerKey> to;  ///< all get the same message
    StepIndex step;
    wire::Body body;
};

struct Outbox {
    std::vector<OutgoingMessage> messages;
    Actions actions;

    void send(const PeerKey& to, StepIndex step, wire::Body body) {
        messages.push_back({{to}, step, std::move(body)});
    }
    /// Encoded once, however many they are.
    void send_to_all(std::vector<PeerKey> to, StepIndex step, wire::Body body) {
        messages.push_back({std::move(to), step, std::move(body)});
    }
    void act(Action action) { actions.push_back(std::move(action)); }
    void note(std::string line) { actions.push_back(action::Note{std::move(line)}); }
};

}  // namespace dedloc
