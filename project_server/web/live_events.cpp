// A feed keeps the last frames of a run in a ring. A stream remembers the number of its next frame;
// if that has left the ring, because its browser is slow, it gets a snapshot instead.
#include "project_server/web/live_events.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/remote_voters.hpp"
#include "project_server/control/client.hpp"
#include "project_server/control/message_names.hpp"
#include "project_server/control/sockets.hpp"
#include "project_server/http/http_setup.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFrames = 256;
constexpr auto kPause = 200ms;
/// A comment as often keeps proxies from closing the stream, and finds browsers that are gone.
constexpr auto kSilence = 15s;
/// Longest wait for a new feed to have the run's picture, or to know that there is none.
constexpr auto kFirstPicture = 1500ms;
constexpr const char* kAway = "event: away\ndata: {}\n\n";
constexpr const char* kRetry = "retry: 3000\n\n";

/// One event as text, and its name for Last-Event-ID.
struct Frame {
    std::string id;
    std::string text;
};

std::string id_of(const control::Snapshot& picture) {
    return fmt::format("{}-{}", picture.session, picture.sequence);
}

/// Without users' ids: only pages show a peer's owner, because they respect show_hosts.
control::Snapshot anonymous(control::Snapshot picture) {
    for (control::MemberView& member : picture.members) member.user = 0;
    return picture;
}

/// The part of an event that anyone may see; nothing if that is none of it. Each kind of event is
/// named, so that a new one does not compile before this has been decided.
struct Published {
    using Part = std::optional<control::Happening>;

    Part operator()(const control::StepCommitted& what) const { return what; }
    Part operator()(const control::StepSettled& what) const { return what; }
    Part operator()(const control::StepsVoid& what) const { return what; }
    Part operator()(control::MemberJoined what) const {
        what.member.user = 0;
        return what;
    }
    Part operator()(const control::MemberLeft& what) const { return what; }
    Part operator()(const control::Progress& what) const { return what; }
    Part operator()(const control::StateChanged& what) const { return what; }
    /// Evidence is for the administrator (`dedloc run suspicions`): pages name the owner of a key,
    /// and the accused may be honest.
    Part operator()(const control::Suspicion&) const { return std::nullopt; }
};

/// The runs whose backbones have started most recently.
std::vector<std::string> newest_runs(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    std::vector<std::pair<fs::file_time_type, std::string>> runs;
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator{folder, absent}) {
        const auto started = fs::last_write_time(entry.path() / control::kEventsSocket, absent);
        if (!absent) runs.emplace_back(started, entry.path().filename().string());
    }
    std::ranges::sort(runs, std::greater{});
    if (runs.size() > kMaxFollowed) runs.resize(kMaxFollowed);
    std::vector<std::string> names;
    for (auto& [started, name] : runs) names.push_back(std::move(name));
    return names;
}

std::string frame_text(const std::string& id, const char* name, const std::string& data) {
    return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", id, name, data);
}

}  // namespace

/// Follows one run.
class LiveEvents::Feed {
  public:
    explicit Feed(const std::filesystem::path& run_folder)
        : subscriber_(backbone::places_of(run_folder)) {
        thread_ = std::thread{[this] { follow(); }};
    }
    ~Feed() {
        stop();
        thread_.join();
    }
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;

    void stop() {
        is_stopping_ = true;
        changed_.notify_all();
    }
    bool is_stopping() const { return is_stopping_; }

    /// The number of the frame after that of this id; nothing if the ring does not have it.
    std::optional<std::uint64_t> after(const std::string& id) const {
        const std::lock_guard lock{mutex_};
        for (std::size_t i = 0; i < frames_.size(); ++i) {
            if (frames_[i].id == id) return first_ + i + 1;
        }
        return std::nullopt;
    }
    /// The picture as a frame; `next` becomes the number of the frame that follows it.
    std::string snapshot(std::uint64_t& next) const {
        const std::lock_guard lock{mutex_};
        next = first_ + frames_.size();
        return whole();
    }
    /// The picture, unless the backbone is away. Waits for the first one.
    std::optional<control::Snapshot> present() const {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, kFirstPicture, [&] { return is_stopping_ || !frames_.empty(); });
        return is_away_ ? std::nullopt : picture_;
    }
    /// Frame `next` and those after it, waiting for them; a snapshot if it has left the ring.
    /// Empty after `limit`.
    std::string read(std::uint64_t& next, std::chrono::milliseconds limit) const {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, limit,
                          [&] { return is_stopping_ || next < first_ + frames_.size(); });
        std::string text;
        if (next < first_) {
            text = whole();
            next = first_ + frames_.size();
        }
        for (; next < first_ + frames_.size(); ++next) text += frames_[next - first_].text;
        return text;
    }

  private:
    /// The picture as a frame. Requires mutex_.
    std::string whole() const {
        if (!picture_) return kAway;
        return frame_text(id_of(*picture_), "snapshot", control::write(*picture_));
    }
    void follow() {
        using Change = control::Subscriber::Change;
        while (!is_stopping_) {
            try {
                const Change change = subscriber_.wait(kPause);
                if (change != Change::kNothing) take(change);
            } catch (const Error& error) {
                log_error("live events: {}", error.what());
                std::this_thread::sleep_for(1s);
            }
        }
    }
    void take(control::Subscriber::Change change) {
        const control::Snapshot picture = anonymous(subscriber_.picture());
        Frame frame{.id = id_of(picture), .text = kAway};
        if (change == control::Subscriber::Change::kEvent) {
            control::Event event = subscriber_.event();
            auto published = std::visit(Published{}, event.what);
            if (!published) return;
            event.what = std::move(*published);
            frame.text = frame_text(frame.id, control::kEventNames.at(event.what.index()),
                                    control::write(event));
        } else if (change == control::Subscriber::Change::kSnapshot) {
            frame.text = frame_text(frame.id, "snapshot", control::write(picture));
        }
        {
            const std::lock_guard lock{mutex_};
            is_away_ = change == control::Subscriber::Change::kAway;
            if (!is_away_) picture_ = picture;
            frames_.push_back(std::move(frame));
            if (frames_.size() > kFrames) {
                frames_.pop_front();
                ++first_;
            }
        }
        changed_.notify_all();
    }

    control::Subscriber subscriber_;  ///< used by thread_
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<Frame> frames_;  ///< guarded by mutex_
    std::uint64_t first_ = 0;   ///< the number of the first of them; guarded by mutex_
    std::optional<control::Snapshot> picture_;  ///< nothing before the first; guarded by mutex_
    bool is_away_ = false;                      ///< guarded by mutex_
    std::atomic<bool> is_stopping_ = false;
    std::thread thread_;
};

LiveEvents::LiveEvents(std::filesystem::path runs) : runs_(std::move(runs)) {}
LiveEvents::~LiveEvents() = default;

void LiveEvents::stop() {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
    for (const auto& [run, feed] : feeds_) feed->stop();
}

void LiveEvents::add_route(httplib::Server& server, const std::string& prefix) {
    server.Get(literal(prefix) + "/api/run/([A-Za-z0-9_-]{1,40})/events",
               [this](const httplib::Request& request, httplib::Response& response) {
                   open(request, response);
               });
}

/// Requires mutex_. Null if there is no such run.
std::shared_ptr<LiveEvents::Feed> LiveEvents::feed_of(const std::string& run) {
    const auto known = feeds_.find(run);
    if (known != feeds_.end()) return known->second;
    if (!std::filesystem::exists(runs_ / run / "run.json")) return nullptr;
    return feeds_.emplace(run, std::make_shared<Feed>(runs_ / run)).first->second;
}

std::optional<control::Snapshot> LiveEvents::picture(const std::string& run) {
    std::shared_ptr<Feed> feed;
    {
        const std::lock_guard lock{mutex_};
        if (!is_stopping_) feed = feed_of(run);
    }
    return feed ? feed->present() : std::nullopt;
}

std::vector<control::Snapshot> LiveEvents::pictures() {
    std::vector<std::shared_ptr<Feed>> feeds;
    {
        const std::vector<std::string> runs = newest_runs(runs_);
        const std::lock_guard lock{mutex_};
        for (const std::string& run : runs) {
            if (is_stopping_) break;
            // All begin before the first one is waited for.
            if (auto feed = feed_of(run)) feeds.push_back(std::move(feed));
        }
    }
    std::vector<control::Snapshot> pictures;
    for (const auto& feed : feeds) {
        if (auto picture = feed->present()) pictures.push_back(std::move(*picture));
    }
    std::ranges::sort(pictures, {}, &control::Snapshot::run);
    return pictures;
}

void LiveEvents::open(const httplib::Request& request, httplib::Response& response) {
    std::shared_ptr<Feed> feed;
    bool is_ending = false;
    {
        const std::lock_guard lock{mutex_};
        feed = feed_of(request.matches[1]);
        is_ending = is_stopping_;
    }
    if (!feed) {
        response.status = 404;
        return;
    }
    const auto slot = is_ending ? nullptr : streams_.take(address_of(request));
    if (!slot) {
        response.status = 503;
        response.set_header("Retry-After", "30");
        return;
    }
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Accel-Buffering", "no");  // nginx passes each event on at once
    const auto known = feed->after(request.get_header_value("Last-Event-ID"));
    response.set_chunked_content_provider(
        "text/event-stream", [feed, slot, next = known.value_or(0), is_known = known.has_value(),
                              is_first = true](std::size_t, httplib::DataSink& sink) mutable {
            std::string text;
            if (std::exchange(is_first, false)) {
                text = kRetry;
                if (!is_known) text += feed->snapshot(next);
            } else {
                text = feed->read(next, kSilence);
                if (text.empty()) text = ":\n\n";
            }
            if (feed->is_stopping()) {
                sink.done();
                return true;
            }
            return sink.write(text.data(), text.size());
        });
}

}  // namespace dedloc::server
