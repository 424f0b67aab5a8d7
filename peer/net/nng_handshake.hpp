// A connection whose two ends have not proven yet who they are: plays the handshake over an nng
// stream, against a deadline, and then hands the stream on or says why not.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "peer/net/handshake.hpp"
#include "peer/net/nng_handles.hpp"

namespace dedloc::net {

/// Thread: any, unless said otherwise.
class NngHandshake final {
  public:
    /// What both handshakes and their transport know of revoked tickets at this moment.
    using Revoked = std::function<std::shared_ptr<const wire::Revocations>()>;
    struct Terms {
        std::shared_ptr<const SessionOptions> session;
        Side side = Side::kListener;
        std::optional<PeerKey> expected;
        std::chrono::milliseconds deadline;  ///< from start() on, for everything together
    };

    /// `on_over` is called once after start, on a thread of nng, and must not destroy this. The
    /// connection is closed by then unless both ends are proven. What is referred to must outlive
    /// it.
    NngHandshake(NngStream stream, const Terms& terms, Revoked revoked,
                 std::function<void(NngHandshake&)> on_over);
    /// Requires that on_over has been called (it may still be returning).
    ~NngHandshake() = default;
    NngHandshake(const NngHandshake&) = delete;
    NngHandshake& operator=(const NngHandshake&) = delete;

    void start();
    /// Ends it now for this reason, if it is not over.
    void cut(LinkRefusal why);

    // For on_over, and after it.
    bool is_proven() const { return handshake_.is_proven() && why_ == LinkRefusal::kNone; }
    /// The shortest time from the first byte of a message to the last of its answer; the highest
    /// value if there was none.
    std::chrono::nanoseconds round_trip() const { return round_trip_; }
    /// Requires is_proven().
    const Proven& proven() const { return handshake_.proven(); }
    NngStream take_stream() { return std::move(stream_); }
    /// Why not, in one sentence without a full stop; one of a few. Requires !is_proven().
    std::string sentence() const;
    /// The other end has proven to be this peer itself.
    bool is_self() const {
        return handshake_.refusal() == LinkRefusal::kMyself && !handshake_.is_told();
    }

  private:
    void proceed();
    bool begin_operation();
    void over();
    void ended();
    void take_in(std::size_t count);

    const std::shared_ptr<const SessionOptions> session_;
    const std::chrono::milliseconds patience_;
    const Revoked revoked_;
    const std::function<void(NngHandshake&)> on_over_;
    Handshake handshake_;

    // Used by the one operation under way, or by whoever starts the next.
    std::chrono::steady_clock::time_point until_;
    std::optional<std::chrono::steady_clock::time_point> asked_at_;  ///< with what was last written
    std::chrono::nanoseconds round_trip_ = std::chrono::nanoseconds::max();
    Buffer out_;
    std::size_t out_written_ = 0;
    std::array<std::byte, Handshake::kSealedBytes> in_{};
    std::size_t in_got_ = 0;

    std::mutex mutex_;  ///< guards what follows
    bool is_cut_ = false;
    LinkRefusal why_ = LinkRefusal::kNone;  ///< other than the handshake's own reason

    NngStream stream_;
    NngAio aio_;  ///< after stream_: destroyed first
};

}  // namespace dedloc::net
