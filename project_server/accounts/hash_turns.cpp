// The queue is searched from end to end, which its limit allows. Each waiting thread looks only at
// its own state, which the thread that decides about it has set.
#include "project_server/accounts/hash_turns.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "peer/base/check.hpp"

namespace dedloc::server {
namespace {

/// Networks whose last turns are remembered: those of more requests than can wait.
constexpr std::size_t kMaxNetworks = 3'000;

}  // namespace

HashQueue::Number HashQueue::add(const std::string& address, bool is_known) {
    waiting_.emplace(++last_, Request{platform::networks_of(address), is_known});
    return last_;
}

/// The last turns of a request's networks, from the widest; 0: none.
HashQueue::Turns HashQueue::last_turns(const Request& request) const {
    Turns turns{};
    for (std::size_t width = 0; width < turns.size(); ++width) {
        const auto found = turn_of_.find(request.networks[width]);
        if (found != turn_of_.end()) turns[width] = found->second;
    }
    return turns;
}

HashQueue::Number HashQueue::take_next() {
    DEDLOC_CHECK(!waiting_.empty(), "no request waits for a turn");
    const auto next = std::ranges::min_element(waiting_, {}, [this](const auto& item) {
        return std::tuple{last_turns(item.second), !item.second.is_known, item.first};
    });
    const Number number = next->first;
    ++turns_;
    for (const std::string& network : next->second.networks) turn_of_[network] = turns_;
    waiting_.erase(next);
    if (turn_of_.size() > kMaxNetworks) {
        std::erase_if(turn_of_,
                      [this](const auto& item) { return turns_ - item.second > kMaxNetworks / 6; });
    }
    return number;
}

HashQueue::Number HashQueue::take_last() {
    DEDLOC_CHECK(!waiting_.empty(), "no request waits for a turn");
    std::map<std::string, std::size_t> counts;
    for (const auto& [number, request] : waiting_) {
        // A text that is no address has one key three times, which only multiplies its count.
        for (const std::string& network : request.networks) ++counts[network];
    }
    const auto last = std::ranges::max_element(waiting_, {}, [&](const auto& item) {
        const Request& request = item.second;
        const std::array held{counts[request.networks[0]], counts[request.networks[1]],
                              counts[request.networks[2]]};
        return std::tuple{held, last_turns(request), !request.is_known, item.first};
    });
    const Number number = last->first;
    waiting_.erase(last);
    return number;
}

HashTurns::Turn::Turn(HashTurns& turns, const std::string& address, bool is_known) : turns_(turns) {
    std::unique_lock lock{turns.mutex_};
    const HashQueue::Number number = turns.queue_.add(address, is_known);
    const auto own = turns.states_.emplace(number, State::kWaits).first;
    turns.give_turns();
    if (turns.queue_.size() > turns.limits_.waiting) {
        turns.states_.at(turns.queue_.take_last()) = State::kRefused;
    }
    turns.changed_.notify_all();
    turns.changed_.wait_for(lock, turns.limits_.wait, [&] { return own->second != State::kWaits; });
    const State state = own->second;
    turns.states_.erase(own);
    turns.queue_.remove(number);
    if (state != State::kHasTurn) throw TooBusyError{};
}

HashTurns::Turn::~Turn() {
    const std::lock_guard lock{turns_.mutex_};
    --turns_.taken_;
    turns_.give_turns();
    turns_.changed_.notify_all();
}

/// Gives free turns to waiting requests. Requires mutex_.
void HashTurns::give_turns() {
    while (taken_ < limits_.at_once && queue_.size() > 0) {
        ++taken_;
        states_.at(queue_.take_next()) = State::kHasTurn;
    }
}

std::size_t HashTurns::waiting() {
    const std::lock_guard lock{mutex_};
    return queue_.size();
}

}  // namespace dedloc::server
