// A lock guards the state, since the network, trainer and main threads all report here. The last
// few decisions are kept to add their fields to a state's line, to check averages, and to answer
// action::ReadHistory, as this backbone has no ledger. Durable data is written before the lock is
// taken. A line is built from literal JSON; its fields are part of the interface for tests.
#include "peer/tool/step_log.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "peer/base/log.hpp"

namespace dedloc::tool {
namespace {

/// Number of decisions that are kept.
constexpr std::size_t kKeptDecisions = 16;

long largest_kilobytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

}  // namespace

StepLog::StepLog(RoundWatch& watch, StepLogOptions options)
    : watch_(watch),
      options_(std::move(options)),
      average_check_(options_.codec, options_.elements) {}

void StepLog::perform(const HostAction& action) {
    std::visit([this](const auto& what) { on(what); }, action);
}

void StepLog::on(const action::Voted& vote) {
    if (options_.memory != nullptr) options_.memory->keep(vote.state);
}

void StepLog::on(const action::Committed& commit) {
    const Decision decision{.record = commit.record, .certificate = commit.certificate};
    if (options_.memory != nullptr) options_.memory->keep(decision);
    watch_.committed(commit.record.step);
    const std::lock_guard lock(mutex_);
    decided_.insert_or_assign(commit.record.step, decision);
    if (decided_.size() > kKeptDecisions) decided_.erase(decided_.begin());
}

void StepLog::on(const action::GenerationBegun& begun) {
    const GenerationRecord& record = begun.generation.record;
    if (options_.memory != nullptr) options_.memory->keep(begun.generation);
    log_info("generation {} begins at step {}", record.generation, record.step.value());
    const std::lock_guard lock(mutex_);
    generation_ = record.generation;
    decided_.erase(decided_.lower_bound(record.step), decided_.end());
}

void StepLog::on(const action::GenerationWanted& wanted) {
    if (!options_.project) return;
    const Digest digest = digest_of(options_.run, wanted.record);
    options_.events(
        event::GenerationSigned{.generation = {.record = wanted.record,
                                               .signature = options_.project->sign(digest.bytes)}});
}

/// Answers from the kept decisions; entries may be missing.
void StepLog::on(const action::ReadHistory& wanted) {
    event::HistoryRead answer{.to = wanted.to, .entries = {}};
    {
        const std::lock_guard lock(mutex_);
        auto next = decided_.find(wanted.step);
        while (generation_ == wanted.generation && next != decided_.end() &&
               answer.entries.size() < wanted.max_entries) {
            answer.entries.emplace_back(next->second);
            ++next;
        }
    }
    options_.events(std::move(answer));
}

void StepLog::on(const action::Finished&) {
    const std::lock_guard lock(mutex_);
    end_.is_finished = true;
}
void StepLog::on(const action::Refused& refused) {
    failed("the swarm refuses us: " + refused.reason);
}
void StepLog::on(const action::Settled& settled) {
    if (options_.project) options_.publish(settled);
}

void StepLog::on(const action::Note& note) {
    log_info("{}", note.line);
}
void StepLog::failed(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (!end_.failure) end_.failure = sentence;
}

void StepLog::check(StepIndex step, const FloatVector& average) {
    CommitRecord record;
    {
        const std::lock_guard lock(mutex_);
        const auto found = decided_.find(step);
        if (found == decided_.end()) return;
        record = found->second.record;
    }
    if (!average_check_.holds(record, average)) {
        failed(fmt::format("the average of step {} is not what its contributors have sent",
                           step.value()));
    }
}

void StepLog::reached(const event::StateReached& reached) {
    const std::lock_guard lock(mutex_);
    if (has_ended_) return;  // the trainer finishes the update that it has begun
    step_ = reached.step;
    digest_ = reached.digest;
    const std::string line = line_of(reached);
    if (reached.step > StepIndex{0}) {
        const auto decided = decided_.find(StepIndex{reached.step.value() - 1});
        if (decided != decided_.end()) ++rounds_;
    }
    sent_ = watch_.sent();
    received_ = watch_.received();
    cpu_ = cpu_seconds_now();
    if (!options_.is_quiet) print(line);
}

/// Under the lock.
std::string StepLog::line_of(const event::StateReached& reached) const {
    const double now = seconds_now();
    std::string line =
        fmt::format(R"({{"event":"step","at":{:.6f},"step":{},"generation":{},"digest":"{}")", now,
                    reached.step.value(), generation_, reached.digest.hex());
    const StepIndex round{reached.step.value() - std::min<std::uint64_t>(reached.step.value(), 1)};
    const auto found = decided_.find(round);
    if (found != decided_.end() && reached.step > StepIndex{0}) {
        const CommitRecord& record = found->second.record;
        Samples samples;
        for (const CommitLine& member : record.members) samples += member.samples;
        line +=
            fmt::format(R"(,"members":{},"samples":{},"coordinator":"{}")", record.members.size(),
                        samples.value(), found->second.certificate.term.coordinator.hex());
        if (const CommitLine* own = dedloc::line_of(record, options_.peer)) {
            line += fmt::format(
                R"(,"own_samples":{},"own_share":{:.4f})", own->samples.value(),
                static_cast<double>(own->reduced) / static_cast<double>(options_.elements));
        }
    }
    const RoundTimes times = watch_.times();
    if (times.step == round && times.frozen > 0 && times.committed > 0) {
        line += fmt::format(
            R"(,"frozen_at":{:.6f},"planned_at":{:.6f},"averaged_at":{:.6f})"
            R"(,"committed_at":{:.6f},"attempt":{},"reducers":{},"round_seconds":{:.6f})",
            times.frozen, times.planned, times.averaged, times.committed, times.attempt,
            times.reducers, times.committed - times.frozen);
        if (times.cpu_averaged > 0) {
            line += fmt::format(R"(,"round_cpu_seconds":{:.6f})",
                                times.cpu_averaged - times.cpu_frozen);
        }
        if (times.promised) line += fmt::format(R"(,"planned_seconds":{:.6f})", *times.promised);
    }
    const Traffic sent = watch_.sent();
    const Traffic received = watch_.received();
    line += fmt::format(
        R"(,"sent_bytes":{},"received_bytes":{},"cpu_seconds":{:.6f},"computing_seconds":{:.6f}}})",
        sent.bytes() - sent_.bytes(), received.bytes() - received_.bytes(),
        cpu_seconds_now() - cpu_, options_.computing().seconds);
    return line;
}

void StepLog::print_start(const PeerKey& peer, std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    print(fmt::format(
        R"({{"event":"start","at":{:.6f},"peer":"{}","run":"{}","port":{},"elements":{}}})",
        seconds_now(), peer.hex(), options_.run.hex(), port, options_.elements));
}

void StepLog::print_end(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    const Traffic sent = watch_.sent();
    const Traffic received = watch_.received();
    print(fmt::format(
        R"({{"event":"end","at":{:.6f},"reason":"{}","step":{},"digest":"{}","rounds":{})"
        R"(,"seconds":{:.6f},"sent_bytes":{},"received_bytes":{},"sent_control_bytes":{})"
        R"(,"received_control_bytes":{},"sent_frames":{},"received_frames":{})"
        R"(,"cpu_seconds":{:.6f},"largest_kilobytes":{},"computing_share":{:.4f}}})",
        seconds_now(), reason, step_.value(), digest_.hex(), rounds_, seconds_now() - started_,
        sent.bytes(), received.bytes(), sent.control, received.control, sent.frames,
        received.frames, cpu_seconds_now(), largest_kilobytes(), options_.computing().share()));
}

/// Prints a line. The lock must be held. The reader may have closed the pipe: the stay then fails.
void StepLog::print(const std::string& line) {
    const bool is_written = std::fputs(line.c_str(), stdout) >= 0 &&
                            std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
    if (is_written || end_.failure) return;
    end_.failure = "standard output cannot be written";
}

StayEnd StepLog::end() const {
    const std::lock_guard lock(mutex_);
    return end_;
}

}  // namespace dedloc::tool
