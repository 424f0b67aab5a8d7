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

}  // namespace

Answer ask(const std::filesystem::path& run_folder, const Request& request,
           std::chrono::milliseconds limit) {
    const SocketFolder folder{run_folder};
    Socket socket{Socket::Kind::kRequest};
    if (!socket.dial(folder.path(kCommandsSocket), limit)) return {.outcome = Outcome::kAbsent};
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
    : run_folder_(run_folder), folder_(run_folder), socket_(Socket::Kind::kSubscribe) {
    socket_.keep_dialling(folder_.path(kEventsSocket));
}

bool Subscriber::get_snapshot() {
    const Answer answer = ask(run_folder_, {.command = Command::kSnapshot}, kSnapshotLimit);
    ask_at_ = Clock::now() + kAskEvery;
    if (answer.outcome != Outcome::kAnswered || !answer.reply.snapshot) return false;
    picture_ = *answer.reply.snapshot;
    heard_at_ = Clock::now();
    is_live_ = true;
    is_away_told_ = false;
    return true;
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
        if (!is_live_ && now >= ask_at_) {
            if (get_snapshot()) return Change::kSnapshot;
            if (!std::exchange(is_away_told_, true)) return Change::kAway;
        }
        const auto next = std::min(until, is_live_ ? heard_at_ + kSilence : ask_at_);
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        const auto text = socket_.receive(std::max(pause, 0ms));
        if (text && take(*text)) return Change::kEvent;
        if (Clock::now() >= until) return Change::kNothing;
    }
}

}  // namespace dedloc::control
