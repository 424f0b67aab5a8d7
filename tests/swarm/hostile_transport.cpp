// SharedAdversary holds its lock only while the adversary decides. Its actions are executed without
// the lock, because the transport may post an event at once, which comes back through receive().
#include "tests/swarm/hostile_transport.hpp"

#include <chrono>
#include <variant>

namespace dedloc::test {
namespace {

TimePoint now() {
    return TimePoint{
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace

Actions SharedAdversary::send(const action::Send& send) {
    const std::lock_guard lock(mutex_);
    Actions actions = std::exchange(waiting_, {});
    adversary_.send(now(), send, actions);
    return actions;
}

std::vector<Event> SharedAdversary::receive(const Event& event) {
    const std::lock_guard lock(mutex_);
    std::vector<Event> events;
    adversary_.receive(now(), event, events, waiting_);
    return events;
}

Actions SharedAdversary::take_waiting() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
}

EventSink HostileInterposer::sink(EventSink sink) {
    return [this, sink = std::move(sink)](Event event) {
        for (Event& for_peer : adversary_.receive(event)) sink(std::move(for_peer));
    };
}

void HostileTransport::send(LinkId link, Frame frame) {
    perform(adversary_.send(action::Send{link, std::move(frame)}));
}

void HostileTransport::taken(LinkId link) {
    transport_.taken(link);
    perform(adversary_.take_waiting());
}

/// Executes actions. The adversary's lock must not be held.
void HostileTransport::perform(Actions actions) {
    for (Action& action : actions) {
        if (auto* sent = std::get_if<action::Send>(&action)) {
            transport_.send(sent->link, std::move(sent->frame));
        } else if (const auto* dial = std::get_if<action::Dial>(&action)) {
            transport_.dial(dial->remote);
        } else if (const auto* close = std::get_if<action::Close>(&action)) {
            transport_.close(close->link);
        }
    }
}

}  // namespace dedloc::test
