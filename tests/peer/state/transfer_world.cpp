#include "tests/peer/state/transfer_world.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/arithmetic.hpp"
#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/base/overloaded.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/model_state.hpp"
#include "tests/peer/state/average_digest.hpp"

namespace dedloc::test {
namespace {

/// Far more events than any scenario has at one moment.
constexpr int kMaxEventsAtOnce = 100'000;
/// Steps whose bytes advance() keeps: more than any peer retains.
constexpr StepIndex kRemembered{40};

}  // namespace

// --- history -----------------------------------------------------------------

History::Step History::make(const Step* before) {
    Step next;
    const auto size = static_cast<std::size_t>(12 * elements_);
    auto bytes = before ? std::make_shared<Buffer>(*before->state) : std::make_shared<Buffer>(size);
    const auto number = before ? before->record.step.next() : StepIndex{0};
    const std::uint64_t leaves = kernels::leaf_count(size);
    for (std::uint64_t leaf = 0; leaf < leaves; ++leaf) {
        if (before && (leaf + number.value()) % drift_ != 0) continue;
        const std::size_t first = leaf * kernels::kLeafBytes;
        const std::size_t end = std::min(size, first + kernels::kLeafBytes);
        // One number at each end is quick and enough to make leaves differ.
        for (std::size_t i = first; i < std::min(end, first + 8); ++i) {
            (*bytes)[i] = static_cast<std::byte>(random_.below(256));
        }
        (*bytes)[end - 1] = static_cast<std::byte>(random_.below(256));
    }
    auto average = std::make_shared<FloatVector>(static_cast<std::size_t>(elements_));
    for (std::size_t i = 0; i < average->size(); i += 1'000) {
        const auto value = static_cast<float>(random_.uniform());
        (*average)[i] = round_to_bf16 ? kernels::to_float(kernels::to_bfloat16(value)) : value;
    }
    for (const auto& leaf : kernels::leaf_digests(*bytes)) next.leaves.push_back(Digest{leaf});
    next.state_digest = state::state_digest(number, next.leaves, size);
    next.state = bytes;
    next.average = average;
    next.record.step = number;
    next.record.previous_record = before ? digest_of(before->record) : origin();
    next.record.previous_state = next.state_digest;
    next.record.average = state::average_digest(*average);
    return next;
}

void History::forget_before(StepIndex step) {
    for (std::uint64_t s = step.value(); s-- > 0 && steps_[s]->state;) {
        steps_[s]->state.reset();
        steps_[s]->average.reset();
    }
}

History::Step& History::at(StepIndex step) {
    while (steps_.size() <= step.value()) {
        const Step* before = steps_.empty() ? nullptr : steps_.back().get();
        steps_.push_back(std::make_unique<Step>(make(before)));
    }
    return *steps_[step.value()];
}

SharedBytes History::state(StepIndex step) {
    return at(step).state;
}

Digest History::state_digest(StepIndex step) {
    return at(step).state_digest;
}

SharedFloats History::average(StepIndex step) {
    return at(step).average;
}

const CommitRecord& History::record(StepIndex step) {
    return at(step).record;
}

Digest History::record_before(StepIndex step) {
    return at(step).record.previous_record;
}

StateCertificate History::proof(StepIndex step) {
    StateCertificate proof{.generation = 0,
                           .step = step,
                           .record = record_before(step),
                           .state = state_digest(step),
                           .votes = {}};
    // The first state of a generation needs no votes, as the project has signed it.
    if (step > StepIndex{0}) proof.votes.push_back({.voter = {}, .signature = {std::byte{7}}});
    return proof;
}

Certificate History::certificate() {
    return {.term = {.number = 7, .coordinator = {}}, .votes = {}};
}

event::SnapshotTaken History::snapshot(StepIndex step) {
    const Step& s = at(step);
    return {
        .step = step, .digest = s.state_digest, .bytes = stable_bytes(s.state), .leaves = s.leaves};
}

// --- world -------------------------------------------------------------------

TransferWorld::TransferWorld(std::uint64_t elements, std::uint64_t seed, std::uint32_t drift,
                             std::uint32_t kept_averages)
    : history(elements, seed, drift), random_(seed, 1) {
    rules.elements = elements;
    rules.kept_averages = kept_averages;
    const auto candidates = [this] {
        std::vector<state::DonorCandidate> all;
        for (const auto& m : members) {
            if (!m->is_alive) continue;
            all.push_back({.peer = m->key,
                           .generation = m->own.generation,
                           .step = m->own.step,
                           .has_state = m->own.has_state,
                           .state = m->own.state,
                           .is_voter = m->is_voter,
                           .is_backbone = m->is_backbone});
        }
        return all;
    };
    const auto is_decided = [this](const CommitRecord& record, const Certificate& certificate) {
        return certificate == History::certificate() && record == history.record(record.step);
    };
    const auto is_proven = [this](const StateCertificate& state) {
        if (state != history.proof(state.step)) return false;
        aimed.insert({state.step, state.state});
        return true;
    };
    catch_up =
        std::make_unique<state::CatchUp>(rules, candidates, is_decided, is_proven, Random{seed, 2});
}

TransferWorld::~TransferWorld() = default;

Member& TransferWorld::add_member(StepIndex step, bool is_voter) {
    PeerKey key;
    key.bytes[0] = std::byte{next_key_++};
    members.push_back(std::make_unique<Member>(key, rules, offered_leaves));
    Member& member = *members.back();
    member.is_voter = is_voter;
    member.donor.begin(0);
    for (StepIndex s{0}; s < step; s = s.next()) {
        member.donor.keep(history.record(s), History::certificate(), history.average(s));
    }
    member.own = {
        .has_state = true, .generation = 0, .step = step, .state = history.state_digest(step)};
    certify(member, step);
    return member;
}

void TransferWorld::certify(Member& member, StepIndex step) {
    Outbox out;
    member.donor.certified(now, history.proof(step), member.own, out);
    flush_member(member, out);
}

void TransferWorld::kill(Member& member, bool quietly) {
    if (!member.is_alive) return;
    member.is_alive = false;
    later(quietly ? rules.failure_timeout : member.latency,
          [this, key = member.key] { catch_up->lost(now, key, out_); });
}

void TransferWorld::advance() {
    StepIndex newest;
    for (const auto& m : members) {
        if (!m->is_alive) continue;
        const StepIndex step = m->own.step;
        m->donor.keep(history.record(step), History::certificate(), history.average(step));
        m->own.step = newest = step.next();
        m->own.state = history.state_digest(newest);
        Outbox out;
        m->donor.reached(now, m->own, out);
        flush_member(*m, out);
        certify(*m, newest);
    }
    if (newest > kRemembered) history.forget_before(newest - kRemembered);
    aim_at(newest);
}

void TransferWorld::start_at(StepIndex step, const std::set<std::uint32_t>& damaged) {
    auto bytes = std::make_shared<Buffer>(*history.state(step));
    for (const std::uint32_t leaf : damaged) (*bytes)[leaf * kernels::kLeafBytes] ^= std::byte{1};
    own = {.has_state = true,
           .generation = 0,
           .step = step,
           .state = state::state_digest(step, *bytes)};
    own_bytes = bytes;
}

void TransferWorld::aim_at(StepIndex step) {
    wants_current_ = true;
    aimed.insert({step, history.state_digest(step)});
    catch_up->aim(now, history.proof(step), out_);
    pump();
}

bool TransferWorld::is_current() const {
    if (aimed.empty() || catch_up->is_active() || is_applying_ || !own.has_state) return false;
    return aimed.contains({own.step, own.state}) && own.step == aimed.rbegin()->first;
}

bool TransferWorld::has_note(const std::string& part) const {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const auto& n) { return n.find(part) != std::string::npos; });
}

void TransferWorld::later(Duration delay, std::function<void()> what) {
    queue_.emplace(std::pair{now + delay, sequence_++}, std::move(what));
}

bool TransferWorld::run_until_current(Duration limit) {
    return run_until([this] { return is_current(); }, limit);
}

bool TransferWorld::run_until(const std::function<bool()>& done, Duration limit) {
    const TimePoint end = now + limit;
    TimePoint last = now;
    int at_once = 0;
    while (!done()) {
        step();
        if (now > end) return false;
        at_once = now == last ? at_once + 1 : 0;
        last = now;
        DEDLOC_CHECK(at_once < kMaxEventsAtOnce, "virtual time advances",
                     now.time_since_epoch().count());
    }
    return true;
}

void TransferWorld::step() {
    TimePoint next = queue_.empty() ? kNever : queue_.begin()->first.first;
    TimePoint deadline = catch_up->next_deadline();
    for (const auto& m : members) deadline = std::min(deadline, m->donor.next_deadline());
    next = std::min(next, std::max(now, deadline));
    if (next == kNever) {
        now += rules.heartbeat;  // nothing is scheduled: advance to the limit
        return;
    }
    now = next;
    if (deadline <= now) {
        for (const auto& m : members) {
            Outbox answer;
            m->donor.advance(now, m->own, answer);
            flush_member(*m, answer);
        }
        catch_up->advance(now, out_);
    } else {
        auto event = queue_.extract(queue_.begin());
        event.mapped()();
    }
    pump();
}

void TransferWorld::pump() {
    flush();
    if (wants_current_ && !is_applying_ && !catch_up->is_active() && !is_current()) {
        catch_up->begin(now, own, out_);
        flush();
    }
    catch_up->check_invariants();
    for (const auto& m : members) m->donor.check_invariants();
}

void TransferWorld::flush() {
    auto messages = std::exchange(out_.messages, {});
    auto actions = std::exchange(out_.actions, {});
    for (OutgoingMessage& message : messages) {
        if (Member* member = find(message.to.front())) {
            later(member->latency,
                  [this, member, message = std::move(message)] { deliver(*member, message); });
        }
    }
    for (const Action& action : actions) {
        if (const auto* note = std::get_if<action::Note>(&action)) notes.push_back(note->line);
        if (const auto* l = std::get_if<action::Load>(&action)) {
            loads.push_back(*l);
            later(5ms, [this, copy = *l] { load(copy); });
        }
        if (!std::holds_alternative<action::TakeSnapshot>(action)) continue;
        later(5ms, [this] {
            event::SnapshotTaken taken{.step = own.step,
                                       .digest = own.state,
                                       .bytes = stable_bytes(own_bytes),
                                       .leaves = {}};
            for (auto& leaf : kernels::leaf_digests(*own_bytes)) taken.leaves.push_back({leaf});
            catch_up->own_snapshot(now, taken, out_);
        });
    }
    if (is_applying_) return;
    if (auto round = catch_up->take_round()) {
        DEDLOC_CHECK(round->record.step == own.step, "rounds are fetched in order");
        DEDLOC_CHECK(*round->average == *history.average(own.step),
                     "the average is the decided one");
        rounds.push_back(own.step);
        own.step = own.step.next();
        own.state = history.state_digest(own.step);
        own_bytes = history.state(own.step);
        is_applying_ = true;
        later(apply_time, [this, step = own.step, state = own.state] {
            is_applying_ = false;
            catch_up->reached(now, step, state, out_);
        });
    }
}

void TransferWorld::load(const action::Load& load) {
    if (refuse_loads > 0) {
        --refuse_loads;
        return catch_up->refused(now, out_);
    }
    DEDLOC_CHECK(state::state_digest(load.step, *load.bytes) == load.digest,
                 "a loaded state has the promised digest");
    own.has_state = true;
    own.generation = 0;
    own.step = load.step;
    own.state = load.digest;
    own_bytes = load.bytes;
    catch_up->reached(now, load.step, load.digest, out_);
}

// --- members -----------------------------------------------------------------

Member* TransferWorld::find(const PeerKey& key) {
    for (const auto& m : members) {
        if (m->key == key) return m.get();
    }
    return nullptr;
}

bool TransferWorld::spend(Member& member) {
    if (!member.is_alive || member.is_mute) return false;
    if (!member.messages_left) return true;
    if (*member.messages_left == 0) {
        kill(member, random_.below(2) == 0);
        return false;
    }
    --*member.messages_left;
    return true;
}

void TransferWorld::deliver(Member& member, const OutgoingMessage& message) {
    if (!member.is_alive) return;
    PeerKey us;
    Outbox out;
    std::visit(Overloaded{[&](const wire::StateQuery& query) {
                              ++member.queries;
                              member.donor.queried(now, us, own.generation, message.step, query,
                                                   member.own, out);
                          },
                          [&](const wire::LeafRequest& request) {
                              ++member.requests;
                              member.donor.requested(now, us, request);
                          },
                          [](const auto&) {}},
               message.body);
    flush_member(member, out);
    send_leaves(member);
}

void TransferWorld::flush_member(Member& member, Outbox& out) {
    for (OutgoingMessage& message : out.messages) {
        if (!spend(member)) continue;
        if (member.twist) member.twist(message.body);
        later(member.latency, [this, key = member.key, step = message.step,
                               body = std::move(message.body)] { deliver_back(key, step, body); });
    }
    for (const Action& action : out.actions) {
        if (const auto* note = std::get_if<action::Note>(&action)) notes.push_back(note->line);
        if (!std::holds_alternative<action::TakeSnapshot>(action)) continue;
        later(20ms, [this, m = &member, taken = history.snapshot(member.own.step)] {
            Outbox answer;
            m->donor.snapshot_taken(now, taken, m->own, answer);
            flush_member(*m, answer);
        });
    }
}

void TransferWorld::send_leaves(Member& member) {
    if (member.is_sending || !member.is_alive || member.is_mute) return;
    std::optional<wire::Leaf> leaf = member.donor.next(now, PeerKey{});
    if (!leaf || !spend(member)) return;
    if (member.tamper) member.tamper(*leaf);
    ++member.leaves_sent;
    leaf_bytes += leaf->data.size();
    member.is_sending = true;
    const auto time_at = [&](double bytes_per_second) {
        const double seconds = static_cast<double>(leaf->data.size() + 100) / bytes_per_second;
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
    };
    const Duration time = time_at(member.bytes_per_second);
    TimePoint arrival = now + time + member.latency;
    if (download > 0) {
        const TimePoint begin = std::max(now + member.latency, download_free_);
        arrival = download_free_ = std::max(arrival, begin + time_at(download));
    }
    later(time, [this, m = &member] {
        m->is_sending = false;
        send_leaves(*m);
    });
    later(arrival - now, [this, key = member.key, body = std::move(*leaf)] {
        deliver_back(key, StepIndex{0}, body);
    });
}

void TransferWorld::deliver_back(const PeerKey& from, StepIndex step, const wire::Body& body) {
    std::visit(
        Overloaded{[&](const wire::StateOffer& o) { catch_up->offered(now, from, step, o, out_); },
                   [&](const wire::RoundOffer& o) { catch_up->offered(now, from, step, o, out_); },
                   [&](const wire::Leaf& l) { catch_up->received(now, from, l, out_); },
                   [](const auto&) {}},
        body);
}

}  // namespace dedloc::test
