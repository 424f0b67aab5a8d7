// extend() checks each record against the head before it: a decision and the last state need a
// majority of that head's voters, a generation the project's signature. Only then does the record
// reach the states that judge() asks. The reader keeps its place, so a later call checks only what
// is new. visit_decisions() reads the file again up to that place without checks, and leaves out
// records that a later generation has made void.
#include "project_server/backbone/ledger_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "peer/base/error.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::uint64_t kProgressEvery = 1'000;  // records

}  // namespace

LedgerProof::LedgerProof(std::filesystem::path path, const formats::RunFile& run,
                         const Progress& progress)
    : path_(std::move(path)),
      run_(formats::run_id(run)),
      project_(run.project_key),
      backbone_(run.backbone_key),
      initial_state_(run.initial_state),
      reader_(path_, {run_, backbone_}) {
    extend(progress);
}

Standing LedgerProof::judge(const formats::CheckpointHead& checkpoint) const {
    if (head().generation == 0 && checkpoint.step == StepIndex{0} && initial_state_) {
        return checkpoint.digest == *initial_state_ ? Standing::kProven : Standing::kUnproven;
    }
    return states_.judge(checkpoint);
}

void LedgerProof::check(const Head& before, const LedgerRecord& record) const {
    const char* fault = nullptr;
    if (const auto* const commit = std::get_if<LedgerCommit>(&record)) {
        const Decision& decision = commit->decision;
        if (!membership::is_certified(run_, before, decision.record, decision.certificate)) {
            fault = "a record is not signed by a majority of its generation's voters";
        }
        const bool is_first = decision.record.generation == 0 && before.step == StepIndex{0};
        if (is_first && initial_state_ && decision.record.previous_state != *initial_state_) {
            fault = "the run starts from another state than the one that its run file names";
        }
    } else if (const auto* const begun = std::get_if<SignedGeneration>(&record)) {
        if (!membership::is_signed(run_, project_, *begun)) {
            fault = "a generation is not signed by the project";
        }
    } else if (const auto* const last = std::get_if<StateCertificate>(&record)) {
        if (!membership::is_certified(run_, before.voters, *last)) {
            fault = "the last state is not signed by a majority of its generation's voters";
        }
    }
    if (fault == nullptr) return;
    throw InputError(fmt::format("{} is not a ledger to trust: at step {}, {}", path_.string(),
                                 before.step.value(), fault));
}

void LedgerProof::extend(const Progress& progress) {
    Head before = head();
    for (std::uint64_t count = 1; const auto record = reader_.next(); ++count) {
        check(before, *record);
        states_.take(*record);
        if (const auto* const begun = std::get_if<SignedGeneration>(&*record)) {
            generations_.push_back(begun->record);
        }
        before = head();
        if (progress && count % kProgressEvery == 0) {
            progress(reader_.place().position, std::filesystem::file_size(path_));
        }
    }
}

/// A generation makes the records from its step on void.
bool LedgerProof::is_void(const CommitRecord& record) const {
    return std::ranges::any_of(generations_, [&](const GenerationRecord& later) {
        return later.generation > record.generation && later.step <= record.step;
    });
}

void LedgerProof::visit_decisions(StepIndex step,
                                  const std::function<void(const CommitRecord&)>& visit) const {
    LedgerReader again{path_, {run_, backbone_}};
    while (again.place().position < reader_.place().position) {
        const auto record = again.next();
        if (!record) throw IoError(fmt::format("{} became shorter while read", path_.string()));
        const auto* const commit = std::get_if<LedgerCommit>(&*record);
        if (commit == nullptr) continue;
        const CommitRecord& decided = commit->decision.record;
        if (decided.step < step && !is_void(decided)) visit(decided);
    }
}

Contributions LedgerProof::contributions(StepIndex step) const {
    Contributions sum;
    std::set<PeerKey> peers;
    visit_decisions(step, [&](const CommitRecord& decided) {
        for (const CommitLine& line : decided.members) {
            if (line.samples == Samples{0}) continue;
            sum.samples += line.samples;
            peers.insert(line.peer);
        }
        if (decided.step.next() == step) sum.record = digest_of(decided);
    });
    sum.peers = peers.size();
    return sum;
}

}  // namespace dedloc::backbone
