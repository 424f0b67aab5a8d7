// A subscriber asks for a snapshot and applies the events after it. Whatever goes wrong (a gap, a
// message that cannot be read, another session, silence) ends in asking for a new snapshot.
#include "project_server/control/client.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "project_server/control/picture.hpp"
#include "project_server/control/tunnel.hpp"

namespace dedloc::control {
namespace {

using namespace std::chrono_literals;

/// A backbone publishes its progress about once a second.
constexpr auto kSilence = 2500ms;
constexpr std::chrono::milliseconds kAskEvery{250};
constexpr std::chrono::milliseconds kLocalRedial{10};  ///< while a backlog is full
constexpr std::chrono::milliseconds kLastRedial{500};  ///< between two attempts to connect
constexpr std::chrono::milliseconds kLastRemoteRedial{5'000};
constexpr auto kSnapshotLimit = 1000ms;
constexpr auto kReturnEvery = 2000ms;

/// How long a backbone has to take a connection, and what has become of the request if it does not.
struct Reach {
    std::chrono::milliseconds limit;
    Outcome if_silent;
    bool redials;  ///< also if the connection is lost at once
};

/// Connects within the limit of `reach`.
Socket::Dialled dial(Socket& socket, const std::string& path, const Reach& reach) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + reach.limit;
    for (auto left = reach.limit;;) {
        const auto dialled = socket.dial(path, left);
        if (dialled != Socket::Dialled::kLost) return dialled;
        if (!reach.redials) return Socket::Dialled::kAbsent;
        std::this_thread::sleep_for(kLocalRedial);
        left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        if (left <= 0ms) return Socket::Dialled::kSilent;
    }
}

/// Asks the backbone whose sockets are in the folder.
Answer ask_in(const std::filesystem::path& place, const Request& request, const Reach& reach,
              std::chrono::milliseconds limit) {
    const SocketFolder folder{place};
    Socket socket{Socket::Kind::kRequest};
    const auto dialled = dial(socket, folder.path(kCommandsSocket), reach);
    if (dialled == Socket::Dialled::kAbsent) return {};
    if (dialled == Socket::Dialled::kSilent) return {.outcome = reach.if_silent};
    if (!socket.send(write(request), limit)) return {.outcome = Outcome::kUnknown};
    const auto text = socket.receive(limit);
    if (!text) return {.outcome = Outcome::kUnknown};
    try {
        return {.outcome = Outcome::kAnswered, .reply = read_reply(*text)};
    } catch (const InputError&) {
        return {.outcome = Outcome::kUnknown};
    }
}

/// ssh takes every connection, so a voter that is silent is as absent as one behind a dead link.
/// It closes those that lead to no voter, and the other machine logs each.
Answer ask_through(const Tunnel& tunnel, const Request& request, std::chrono::milliseconds limit) {
    return ask_in(
        tunnel.folder(), request,
        {.limit = std::min(limit, kReachLimit), .if_silent = Outcome::kAbsent, .redials = false},
        limit);
}

}  // namespace

Answer ask(const Place& place, const Request& request, std::chrono::milliseconds limit) {
    if (const auto* const end = std::get_if<RemoteEnd>(&place)) {
        Tunnel tunnel{*end};
        if (!tunnel.wait(kConnectLimit)) return {};
        return ask_through(tunnel, request, limit);
    }
    return ask_in(std::get<std::filesystem::path>(place), request,
                  {.limit = limit, .if_silent = Outcome::kUnknown, .redials = true}, limit);
}

/// A voter on another machine. While its machine works and the voter does not, its SSH server logs
/// each attempt, so attempts become rarer.
struct Subscriber::Remote {
    explicit Remote(const RemoteEnd& end) : tunnel(end) {}
    Tunnel tunnel;
    Clock::time_point ask_at{};  ///< not before
    std::chrono::milliseconds backoff = kAskEvery;
    bool has_failed = false;  ///< since its last snapshot
};

Subscriber::Subscriber(const std::filesystem::path& run_folder)
    : Subscriber(Places{[run_folder] { return std::vector<Place>{run_folder}; }}) {}

Subscriber::Subscriber(Places places) : places_(std::move(places)), list_(places_()) {
    follow(0);
}

Subscriber::~Subscriber() = default;

void Subscriber::follow(std::size_t number) {
    followed_ = number;
    return_at_ = Clock::now() + kReturnEvery;
    dials_anew_ = false;
    socket_.emplace(Socket::Kind::kSubscribe);
    drop_other_remotes();
    if (const auto* const end = std::get_if<RemoteEnd>(&list_[number])) {
        folder_.emplace(remote_at(*end).tunnel.folder());
        return socket_->keep_dialling(folder_->path(kEventsSocket), kLastRemoteRedial);
    }
    folder_.emplace(std::get<std::filesystem::path>(list_[number]));
    socket_->keep_dialling(folder_->path(kEventsSocket), kLastRedial);
}

/// Keeps only the place that is followed, if it is on another machine.
void Subscriber::drop_other_remotes() {
    const auto* const end = std::get_if<RemoteEnd>(&list_[followed_]);
    std::erase_if(remotes_, [end](const auto& remote) {
        return end == nullptr || remote.first != end->text();
    });
}

Subscriber::Remote& Subscriber::remote_at(const RemoteEnd& end) {
    auto& remote = remotes_[end.text()];
    if (remote == nullptr) remote = std::make_unique<Remote>(end);
    return *remote;
}

/// Does not wait for ssh: it is asked again soon.
std::optional<Snapshot> Subscriber::ask_remote(const RemoteEnd& end) {
    Remote& remote = remote_at(end);
    Answer answer;
    if (remote.tunnel.is_up()) {
        if (Clock::now() < remote.ask_at) return std::nullopt;
        answer = ask_through(remote.tunnel, {.command = Command::kSnapshot}, kSnapshotLimit);
        remote.ask_at = Clock::now() + remote.backoff;
        remote.backoff = std::min(2 * remote.backoff, kLastRemoteRedial);
    }
    if (answer.outcome != Outcome::kAnswered || !answer.reply.snapshot) {
        remote.has_failed = true;
        return std::nullopt;
    }
    remote.backoff = kAskEvery;
    remote.ask_at = {};
    dials_anew_ = std::exchange(remote.has_failed, false);
    return std::move(answer.reply.snapshot);
}

bool Subscriber::get_snapshot(const Place& place) {
    std::optional<Snapshot> snapshot;
    if (const auto* const end = std::get_if<RemoteEnd>(&place)) {
        snapshot = ask_remote(*end);
    } else {
        const Answer answer = ask(place, {.command = Command::kSnapshot}, kSnapshotLimit);
        if (answer.outcome == Outcome::kAnswered) snapshot = answer.reply.snapshot;
    }
    if (!snapshot) return false;
    picture_ = std::move(*snapshot);
    heard_at_ = Clock::now();
    is_live_ = true;
    is_away_told_ = false;
    return true;
}

/// Asks one place after the other, the present one first.
bool Subscriber::get_snapshot() {
    ask_at_ = Clock::now() + kAskEvery;
    if (get_snapshot(list_[followed_])) {
        if (dials_anew_) follow(followed_);
        drop_other_remotes();
        return true;
    }
    list_ = places_();
    for (std::size_t number = 0; number < list_.size(); ++number) {
        if (!get_snapshot(list_[number])) continue;
        if (number != 0 || followed_ != 0) follow(number);
        drop_other_remotes();
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
