#include "project_server/runs/history.hpp"

#include <algorithm>
#include <variant>

namespace dedloc::runs {

void RunHistory::update() {
    if (!reader_) {
        if (!std::filesystem::exists(files_.ledger())) return;
        reader_.emplace(files_.ledger(), backbone::LedgerOwner{files_.id, files_.run.backbone_key});
    }
    while (const auto record = reader_->next()) {
        std::visit([this](const auto& what) { take(what); }, *record);
    }
}

void RunHistory::take(const backbone::LedgerCommit& commit) {
    const CommitRecord& record = commit.decision.record;
    server::StepLine line{.step = record.step.next().value(),
                          .seconds = seconds_of(commit.took),
                          .members = static_cast<int>(record.members.size())};
    double loss_sum = 0;
    for (const CommitLine& member : record.members) {
        line.samples += member.samples.value();
        loss_sum += member.loss_sum;
    }
    if (line.samples > 0) line.loss = loss_sum / static_cast<double>(line.samples);
    lines_.push_back(line);
    mixture_ = record.mixture;
}

void RunHistory::take(const backbone::LedgerSettled& settled) {
    const auto line = std::ranges::find(lines_.rbegin(), lines_.rend(), settled.step.value(),
                                        &server::StepLine::step);
    if (line == lines_.rend()) return;
    line->members = static_cast<int>(settled.reported);
    line->equal_digests = static_cast<int>(settled.equal);
    if (settled.digest) final_digest_ = settled.digest->hex();
}

void RunHistory::take(const SignedGeneration& generation) {
    std::erase_if(lines_, [&](const server::StepLine& line) {
        return line.step > generation.record.step.value();
    });
    if (generation.record.step.value() < files_.run.steps) final_digest_.clear();
}

void RunHistory::take(const StateCertificate& certificate) {
    if (certificate.step.value() == files_.run.steps) final_digest_ = certificate.state.hex();
}

}  // namespace dedloc::runs
