// Callbacks of the owner and the sink may cut the link, so is_over_ is checked after each of them.
// One timer serves pings, the silence timeout and the farewell: call tick_again() whenever one of
// these times becomes earlier. cut() is the only end of a link and happens once.
//
// As long as there is one flow, all frames wait in its queue. With several, large frames wait in
// shared_ and count as flying from the moment at which a flow takes them until they are confirmed.
// What flies is bounded, and so is what the receiver must keep until earlier frames arrive.
#include "peer/net/tcp/tcp_link.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::net {

namespace {

/// Added to the size of each queued frame, so that the number of empty frames is bounded too.
constexpr std::size_t kQueueOverhead = 64;

/// A link that has sent nothing for this time is not limited by loss.
constexpr std::chrono::seconds kRecently{2};

/// Pings become rarer this many ping intervals after the last frame.
constexpr int kLively = 3;

}  // namespace

TcpLink::TcpLink(LinkId id, Connection connection, const LinkLimits& limits, LinkTraffic& traffic,
                 const EventSink& sink, Owner owner)
    : id_(id),
      limits_(limits),
      traffic_(traffic),
      sink_(sink),
      owner_(std::move(owner)),
      may_widen_(connection.may_widen),
      tick_(connection.socket.get_executor()),
      window_(std::move(connection.window)),
      // Small frames may fly as well, and the last frame to fly may exceed the limit.
      received_(may_widen_ ? 2 * limits.flying_bytes + limits.frame_bytes : 0),
      pause_(limits.ping_interval),
      promised_(limits.ping_interval),
      sent_at_(Clock::now()),
      lively_until_(sent_at_ + kLively * limits.ping_interval) {
    flows_.push_back(std::make_unique<TcpFlow>(std::move(connection.socket),
                                               std::move(connection.codec), traffic_, *this));
}

void TcpLink::start() {
    if (!first().start()) return cut();
    tick_again();
}

void TcpLink::send(Frame frame) {
    if (is_over_ || is_closing_) return;
    const bool has_queue = first().last_queued() != nullptr || !shared_.empty();
    if (has_queue && queue_bytes_ + frame.size() > limits_.queue_bytes) return cut();
    const std::size_t size = frame.size();
    window_.queue(Clock::now(), size);
    OutgoingFrame outgoing = make_frame(FrameKind::kData, std::move(frame), sent_.add());
    if (is_large(size) && flows_.size() > 1) {
        shared_.push_back(std::move(outgoing));
        write_more();
    } else {
        if (is_large(size)) fly(size);
        first().enqueue(std::move(outgoing));
    }
    liven();
}

void TcpLink::show(SharedBytes ticket) {
    if (!is_over_ && !is_closing_) enqueue(first(), FrameKind::kTicket, std::move(ticket));
}

void TcpLink::ask_to_widen() {
    if (!is_over_ && !is_closing_) enqueue(first(), FrameKind::kWiden, {});
}

void TcpLink::close() {
    say_goodbye(LinkRefusal::kNone);
}

void TcpLink::refuse(LinkRefusal why) {
    if (is_over_ || is_closing_) return;
    why_ = describe(why);
    const auto drop = [this](const std::deque<OutgoingFrame>& frames) {
        for (const OutgoingFrame& frame : frames) queue_bytes_ -= frame.size() + kQueueOverhead;
    };
    drop(first().take_queue());
    drop(std::exchange(shared_, {}));
    say_goodbye(why);
}

void TcpLink::say_goodbye(LinkRefusal reason) {
    if (is_over_ || is_closing_) return;
    is_closing_ = true;
    goodbye_ = reason;
    close_by_ = Clock::now() + limits_.farewell;
    if (shared_.empty()) queue_goodbyes();
    tick_again();
    hold_back(false);
}

/// Queues the last frame of each flow.
void TcpLink::queue_goodbyes() {
    const auto reason = static_cast<std::uint8_t>(goodbye_);
    for (const auto& flow : flows_) {
        enqueue(*flow, FrameKind::kGoodbye, {}, goodbye_detail(reason, flows_.size()));
    }
}

void TcpLink::cut() {
    if (std::exchange(is_over_, true)) return;
    for (const auto& flow : flows_) flow->stop();
    tick_.cancel();
    hold_back(false);
    sink_(event::LinkClosed{id_, std::move(why_)});
    owner_.on_over(id_);
}

void TcpLink::taken() {
    if (untaken_.empty()) return;
    untaken_bytes_ -= untaken_.front();
    untaken_.pop_front();
    if (!is_full()) hold_back(false);
}

bool TcpLink::is_full() const {
    return untaken_.size() >= limits_.untaken_frames || untaken_bytes_ >= limits_.untaken_bytes;
}

/// True: flows stop reading. False: they resume it if they had stopped.
void TcpLink::hold_back(bool now) {
    if (now == std::exchange(is_held_back_, now)) return;
    owner_.on_held_back(now);
    if (now || is_over_) return;
    for (const auto& flow : flows_) flow->resume();
}

// --- flows -------------------------------------------------------------------

void TcpLink::add_flow(TcpSocket socket, FrameCodec codec) {
    DEDLOC_CHECK(may_widen_, "this link never gets more flows");
    if (is_over_) return;
    const auto held = shared_from_this();
    flows_.push_back(
        std::make_unique<TcpFlow>(std::move(socket), std::move(codec), traffic_, *this));
    for (const auto& flow : flows_) wait_until_sent(flow->descriptor());
    window_.set_flows(flows_.size());
    if (!flows_.back()->start()) return cut();
    if (!is_closing_) share_queue();
    write_more();
}

/// Moves the large frames that wait in the first flow to where every flow can take them.
void TcpLink::share_queue() {
    std::deque<OutgoingFrame> large;
    for (OutgoingFrame& frame : first().take_queue()) {
        const bool is_bulk = frame.header.kind == FrameKind::kData && is_large(frame.body.size());
        if (!is_bulk) {
            first().enqueue(std::move(frame));
            continue;
        }
        flying_bytes_ -= flying_.back();
        flying_.pop_back();
        large.push_back(std::move(frame));
    }
    // Frames in shared_ are younger: the first flow got none since there are several.
    shared_.insert(shared_.begin(), std::make_move_iterator(large.begin()),
                   std::make_move_iterator(large.end()));
}

void TcpLink::write_more() {
    for (const auto& flow : flows_) flow->write_more();
}

bool TcpLink::is_limited_by_loss(const FlowProbe& probe) {
    if (is_over_ || is_closing_ || !may_widen_ || flows_.size() > 1) return false;
    const auto now = Clock::now();
    std::optional<FlowSample> sample;
    if (queue_bytes_ > 0 || now < sent_at_ + kRecently) sample = probe(first().descriptor());
    if (sample && queue_bytes_ > 0) sample->has_more = true;
    return loss_.check(now, sample);
}

// --- writing -----------------------------------------------------------------

OutgoingFrame TcpLink::make_frame(FrameKind kind, Frame body, std::uint32_t detail) {
    const auto length = static_cast<std::uint32_t>(body.size());
    sent_at_ = Clock::now();
    OutgoingFrame frame{{kFrameMagic, kind, length, detail}, std::move(body)};
    queue_bytes_ += frame.size() + kQueueOverhead;
    return frame;
}

void TcpLink::enqueue(TcpFlow& flow, FrameKind kind, Frame body, std::uint32_t detail) {
    flow.enqueue(make_frame(kind, std::move(body), detail));
}

/// A large frame of so many bytes is a flow's now.
void TcpLink::fly(std::size_t bytes) {
    flying_.push_back(bytes);
    flying_bytes_ += bytes;
}

bool TcpLink::has_frame() const {
    return !shared_.empty() && flying_bytes_ < limits_.flying_bytes;
}

OutgoingFrame TcpLink::next_frame() {
    OutgoingFrame frame = std::move(shared_.front());
    shared_.pop_front();
    fly(frame.body.size());
    if (is_closing_ && shared_.empty()) queue_goodbyes();
    return frame;
}

void TcpLink::on_taken(std::uint32_t number) {
    window_.take(Clock::now(), sent_.take(number));
}

void TcpLink::on_written(std::size_t frames, std::size_t bytes) {
    queue_bytes_ -= bytes + frames * kQueueOverhead;
    tell_written();
}

void TcpLink::tell_written() {
    for (std::size_t frames = window_.count_written(); frames > 0; --frames) {
        sink_(event::FrameWritten{id_});
    }
}

// --- reading -----------------------------------------------------------------

/// A flow begins to read: restarts the silence timeout.
void TcpLink::on_reading() {
    // A link that carries frames makes both ends ping often: the earlier announcement is void.
    const auto next = pause_ == limits_.ping_interval ? pause_ : promised_;
    silent_at_ = Clock::now() + next + (limits_.silence_timeout - limits_.ping_interval);
}

bool TcpLink::is_reading() const {
    return !is_held_back_ &&
           std::ranges::none_of(flows_, &TcpFlow::awaits_allowance,
                                [](const auto& flow) -> const TcpFlow& { return *flow; });
}

bool TcpLink::holds_back() {
    if (is_closing_ || !is_full()) return false;
    hold_back(true);
    return true;
}

bool TcpLink::on_frame(TcpFlow& flow, const FrameHeader& header, SharedBytes body) {
    const bool may_be_on_any =
        header.kind == FrameKind::kData || header.kind == FrameKind::kGoodbye;
    if (!may_be_on_any && &flow != &first()) return false;
    switch (header.kind) {
        case FrameKind::kData:
            return take_data(header.detail, std::move(body));
        case FrameKind::kPing:
            promised_ = std::clamp(std::chrono::milliseconds{header.detail}, limits_.ping_interval,
                                   limits_.longest_ping_interval);
            return true;
        case FrameKind::kReceipt:
            return take_receipts(header.detail);
        case FrameKind::kGoodbye:
            take_goodbye(header.detail);
            return true;
        case FrameKind::kTicket:
            take_ticket(*body);
            return true;
        case FrameKind::kWiden:
            if (!is_closing_) owner_.on_widen(id_);
            return true;
    }
    return false;
}

bool TcpLink::take_receipts(std::size_t count) {
    if (count > flying_.size() || !window_.confirm(Clock::now(), count)) return false;
    for (; count > 0; --count) {
        flying_bytes_ -= flying_.front();
        flying_.pop_front();
    }
    if (!shared_.empty()) write_more();
    tell_written();
    return true;
}

void TcpLink::take_goodbye(std::uint32_t detail) {
    ++goodbyes_;
    if (awaited_goodbyes_ == 0) awaited_goodbyes_ = goodbye_flows(detail);
    const std::uint8_t reason = goodbye_reason(detail);
    if (reason != 0 && why_.empty()) why_ = describe_told(refusal_of(reason));
}

/// A flow has brought its last frame; the link ends with the last one of all flows.
void TcpLink::on_read_to_end() {
    if (goodbyes_ >= awaited_goodbyes_) cut();
}

void TcpLink::take_ticket(const Buffer& ticket) {
    if (is_closing_) return;
    const LinkRefusal refusal = owner_.on_ticket(id_, ticket);
    if (refusal != LinkRefusal::kNone) refuse(refusal);
}

/// Delivers the frame, and those that have waited for it, or lets it wait for earlier ones.
bool TcpLink::take_data(std::uint32_t number, SharedBytes frame) {
    if (is_closing_) return true;
    if (!received_.take(number, std::move(frame))) return false;
    while (!is_over_) {
        SharedBytes next = received_.next();
        if (!next) break;
        deliver(std::move(next));
    }
    return true;
}

void TcpLink::deliver(SharedBytes frame) {
    if (!std::exchange(has_taken_frame_, true)) owner_.on_first_frame(id_);
    untaken_.push_back(frame->size());
    untaken_bytes_ += frame->size();
    liven();
    if (is_large(frame->size())) confirm();
    sink_(event::FrameReceived{id_, std::move(frame)});
}

/// Confirms a large frame. Consecutive receipts in the queue are merged into one, also when the
/// other end reads nothing.
void TcpLink::confirm() {
    FrameHeader* const last = first().last_queued();
    if (last != nullptr && last->kind == FrameKind::kReceipt) {
        ++last->detail;
    } else {
        enqueue(first(), FrameKind::kReceipt, {}, 1);
    }
}

// --- time --------------------------------------------------------------------

/// A data frame was sent or received: both ends now ping often and expect frequent pings.
void TcpLink::liven() {
    const auto now = Clock::now();
    lively_until_ = now + kLively * limits_.ping_interval;
    if (pause_ == limits_.ping_interval) return;
    pause_ = limits_.ping_interval;
    silent_at_ = std::min(silent_at_, now + limits_.silence_timeout);
    tick_again();  // the timer may be set to a later time
}

void TcpLink::ping() {
    const bool is_lively = Clock::now() < lively_until_;
    pause_ =
        is_lively ? limits_.ping_interval : std::min(2 * pause_, limits_.longest_ping_interval);
    // A queued frame shows as well that this end is alive.
    if (first().last_queued() == nullptr) {
        enqueue(first(), FrameKind::kPing, {}, static_cast<std::uint32_t>(pause_.count()));
    } else {
        sent_at_ = Clock::now();
    }
}

void TcpLink::tick_again() {
    auto next = is_closing_ ? close_by_ : sent_at_ + pause_;
    if (is_reading()) next = std::min(next, silent_at_);
    tick_.expires_at(next);
    tick_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) self->ticked();
    });
}

void TcpLink::ticked() {
    if (is_over_) return;
    const auto now = Clock::now();
    const bool is_silent = is_reading() && now >= silent_at_;
    if (is_silent || now >= close_by_) return cut();
    if (!is_closing_ && now >= sent_at_ + pause_) ping();
    tick_again();
}

}  // namespace dedloc::net
