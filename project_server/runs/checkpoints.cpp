#include "project_server/runs/checkpoints.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "project_server/backbone/checkpoint.hpp"

namespace dedloc::runs {
namespace {

using backbone::Standing;

Verdict judge(const backbone::RunFiles& files, const backbone::LedgerProof& proof,
              const formats::CheckpointHead& head) {
    const std::uint64_t step = head.step.value();
    switch (proof.judge(head)) {
        case Standing::kProven:
            return {
                .is_proven = true,
                .sentence = fmt::format("the state of the run {} at step {}, proven by its "
                                        "ledger: {} parameters, digest {}",
                                        files.run.name, step, formats::parameter_count(files.run),
                                        head.digest.hex())};
        case Standing::kLast:
            return {.is_pending = true,
                    .sentence = fmt::format("not proven yet: the ledger ends with the decision "
                                            "that leads to step {}, and the next one will have the "
                                            "state's digest",
                                            step)};
        case Standing::kUnproven:
            break;
    }
    if (head.step > proof.head().step) {
        return {.sentence = fmt::format("not proven: it claims step {}, and the ledger ends at {}",
                                        step, proof.head().step.value())};
    }
    return {.sentence = fmt::format("not proven: the ledger has another state at step {}", step)};
}

}  // namespace

backbone::LedgerProof read_proof(const backbone::RunFiles& files,
                                 const backbone::LedgerProof::Progress& progress) {
    if (!std::filesystem::exists(files.ledger())) {
        throw InputError(fmt::format("the run {} has no ledger yet: its backbone has not started",
                                     files.run.name));
    }
    return backbone::LedgerProof{files.ledger(), files.run, progress};
}

std::vector<CheckpointLine> checkpoints_of(const backbone::RunFiles& files,
                                           const backbone::LedgerProof& proof) {
    std::vector<CheckpointLine> lines;
    for (const auto& entry : backbone::list_checkpoints(files.checkpoints(), files.id)) {
        lines.push_back({.file = entry, .standing = proof.judge(entry.head)});
    }
    return lines;
}

Verdict verify_checkpoint(const backbone::RunFiles& files, const backbone::LedgerProof& proof,
                          const std::filesystem::path& file,
                          const backbone::CheckpointFile::Visitor& visit) {
    try {
        const backbone::CheckpointFile checkpoint{file, files.id};
        const formats::CheckpointHead& head = checkpoint.head();
        if (head.elements != formats::element_count(files.run)) {
            return {.sentence = fmt::format("not a state of this run: it has {} elements, not {}",
                                            head.elements, formats::element_count(files.run))};
        }
        const Verdict verdict = judge(files, proof, head);
        if (!verdict.is_proven) return verdict;
        if (checkpoint.read_all(visit) == head.digest) return verdict;
        return {.sentence = fmt::format("damaged: its bytes are not the state with the digest {} "
                                        "that it names",
                                        head.digest.brief())};
    } catch (const InputError& error) {
        const std::string sentence = error.what();
        const std::string begin = file.string() + " is ";
        return {.is_proven = false,
                .sentence = sentence.starts_with(begin) ? sentence.substr(begin.size()) : sentence};
    }
}

}  // namespace dedloc::runs
