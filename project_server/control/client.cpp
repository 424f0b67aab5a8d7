// A subscriber asks for a snapshot and applies the events after it. Whatever goes wrong (a gap, a
// message that cannot be read, another session, silence) ends in asking for a new snapshot.
#include "project_server/control/client.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "project_server/control/picture.hpp"

namespace dedloc::control {
namespace {

using namespace std::chrono_literals;

/// A backbone publishes its progress about once a second.
constexpr auto kSilence = 2500ms;
constexpr auto kAskEvery = 250ms;
constexpr auto kSnapshotLimit = 1000ms;
constexpr auto kReturnEvery = 2000ms;

}  // namespace

Answer ask(const Place& place, const Request& request, std::chrono::milliseconds limit) {
    Socket socket{Socket::Kind::kRequest};
    std::optional<SocketFolder> folder;
    if (const auto* const end = std::get_if<RemoteEnd>(&place)) {
        if (!socket.dial(*end, Channel::kCommands, std::min(limit, kReachLimit))) return {};
    } else {
        folder.emplace(std::get<std::filesystem::path>(place));
        if (!socket.dial(folder->path(kCommandsSocket), limit)) return {};
    }
    if (!socket.send(write(request), limit)) return {.outcome = Outcome::kUnknown};
    const auto text = socket.receive(limit);
    if (!text) return {.outcome = Outcome::kUnknown};
    try {
        return {.outcome = Outcome::kAnswered, .reply = read_reply(*text)};
    } catch (const InputError&) {
        return {.outcome = Outcome::kUnknown};
    }
}

Subscriber::Subscriber(const std::filesystem::path& run_folder)
    : Subscriber(Places{[run_folder] { return std::vector<Place>{run_folder}; }}) {}

Subscriber::Subscriber(Places places) : places_(std::move(places)), list_(places_()) {
    follow(0);
}

void Subscriber::follow(std::size_t number) {
    followed_ = number;
    return_at_ = Clock::now() + kReturnEvery;
    socket_.emplace(Socket::Kind::kSubscribe);
    if (const auto* const end = std::get_if<RemoteEnd>(&list_[number])) {
        return socket_->keep_dialling(*end, Channel::kEvents);
    }
    folder_.emplace(std::get<std::filesystem::path>(list_[number]));
    socket_->keep_dialling(folder_->path(kEventsSocket));
}

bool Subscriber::get_snapshot(const Place& place) {
    const Answer answer = ask(place, {.command = Command::kSnapshot}, kSnapshotLimit);
    if (answer.outcome != Outcome::kAnswered || !answer.reply.snapshot) return false;
    picture_ = *answer.reply.snapshot;
    heard_at_ = Clock::now();
    is_live_ = true;
    is_away_told_ = false;
    return true;
}

/// Asks one place after the other, the present one first.
bool Subscriber::get_snapshot() {
    ask_at_ = Clock::now() + kAskEvery;
    if (get_snapshot(list_[followed_])) return true;
    list_ = places_();
    for (std::size_t number = 0; number < list_.size(); ++number) {
        if (!get_snapshot(list_[number])) continue;
        if (number != 0 || followed_ != 0) follow(number);
        return true;
    }
    if (followed_ != 0) follow(0);
    ask_at_ = Clock::now() + kAskEvery;
    return false;
}

/// True if the picture has changed.
bool Subscriber::take(const std::string& text) {
    heard_at_ = Clock::now();
    try {
        event_ = read_event(text);
        const Applied applied = apply(picture_, event_);
        if (applied == Applied::kChanged && is_live_) return true;
        if (applied == Applied::kOld) return false;
    } catch (const InputError&) {
        // As if it had been lost.
    }
    if (is_live_) ask_at_ = {};
    is_live_ = false;
    return false;
}

Subscriber::Change Subscriber::wait(std::chrono::milliseconds limit) {
    const auto until = Clock::now() + limit;
    for (;;) {
        const auto now = Clock::now();
        if (is_live_ && now >= heard_at_ + kSilence) {
            is_live_ = false;
            ask_at_ = now;
        }
        if (followed_ != 0 && now >= return_at_) {
            return_at_ = now + kReturnEvery;
            if (get_snapshot(list_[0])) {
                follow(0);
                return Change::kSnapshot;
            }
        }
        if (!is_live_ && now >= ask_at_) {
            if (get_snapshot()) return Change::kSnapshot;
            if (!std::exchange(is_away_told_, true)) return Change::kAway;
        }
        const auto next = std::min(until, is_live_ ? heard_at_ + kSilence : ask_at_);
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        const auto text = socket_->receive(std::max(pause, 0ms));
        if (text && take(*text)) return Change::kEvent;
        if (Clock::now() >= until) return Change::kNothing;
    }
}

}  // namespace dedloc::control
