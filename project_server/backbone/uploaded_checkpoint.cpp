// The cheap questions come first: the file's size, its head, and what the ledger says of the digest
// in the head. So a liar makes the project read vectors only with a digest that voters have signed,
// and not twice with the same one.
#include "project_server/backbone/uploaded_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/formats/optimizer.hpp"
#include "peer/formats/training_memory.hpp"
#include "peer/platform/files.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/checkpoint_file.hpp"

namespace dedloc::backbone {
namespace {

namespace fs = std::filesystem;

JudgedUpload judged(UploadVerdict verdict, std::string reason,
                    std::optional<formats::CheckpointHead> head = {}) {
    return {.verdict = verdict, .reason = std::move(reason), .head = head};
}

/// What the ledger says of a head whose vectors are not read yet; kAccepted: they decide. `steps`
/// are those of the run.
JudgedUpload judge_head(const formats::CheckpointHead& head, std::uint64_t steps,
                        const LedgerProof& proof, const UploadQuestion& question) {
    const std::uint64_t step = head.step.value();
    const std::uint64_t end = proof.head().step.value();
    switch (proof.judge(head)) {
        case Standing::kLast:
            return judged(UploadVerdict::kPending,
                          fmt::format("the ledger ends at its step {}", step), head);
        case Standing::kUnproven:
            if (proof.was_void(head)) {
                return judged(UploadVerdict::kStale,
                              fmt::format("a later generation has made its step {} void", step),
                              head);
            }
            if (step > steps) {
                return judged(
                    UploadVerdict::kForged,
                    fmt::format("it claims step {}, and the run has {} steps", step, steps), head);
            }
            // A project that was restored from a backup is behind its members for a while.
            if (step > end) {
                return judged(UploadVerdict::kPending,
                              fmt::format("its step is {}, and the ledger ends at {}", step, end),
                              head);
            }
            return judged(UploadVerdict::kForged,
                          fmt::format("the ledger has another state at step {}", step), head);
        case Standing::kProven:
            break;
    }
    if (question.newest && head.step <= *question.newest) {
        return judged(UploadVerdict::kStale,
                      fmt::format("it is of step {}, and the project holds the state of step {}",
                                  step, question.newest->value()),
                      head);
    }
    return judged(UploadVerdict::kAccepted, fmt::format("the state of step {}", step), head);
}

/// The exception's sentence without the file's name.
std::string clause_of(const InputError& error, const fs::path& path) {
    const std::string sentence = error.what();
    const std::string begin = path.string() + " is ";
    return sentence.starts_with(begin) ? "it is " + sentence.substr(begin.size()) : sentence;
}

/// Moves a file, to another filesystem too.
void move_durably(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) {
        const fs::path unfinished = to.string() + ".tmp";
        fs::copy_file(from, unfinished, fs::copy_options::overwrite_existing, error);
        if (error) {
            throw IoError(fmt::format("Cannot copy {} to {}: {}.", from.string(),
                                      unfinished.string(), error.message()));
        }
        platform::sync_file(unfinished);
        platform::move_file(unfinished, to);
        fs::remove(from, error);
        return;
    }
    platform::sync_folder_of(to);
}

}  // namespace

const char* name_of(UploadVerdict verdict) {
    constexpr std::array kNames{"accepted", "forged", "stale", "partial", "unasked", "pending"};
    return kNames.at(static_cast<std::size_t>(verdict));
}

std::optional<StepIndex> newest_proven(const fs::path& folder, const RunId& run,
                                       const LedgerProof& proof) {
    if (!fs::exists(folder)) return std::nullopt;
    for (const CheckpointEntry& entry : list_checkpoints(folder, run)) {
        if (proof.judge(entry.head) == Standing::kProven) return entry.head.step;
    }
    return std::nullopt;
}

JudgedUpload judge_upload(const fs::path& path, const formats::RunFile& run,
                          const LedgerProof& proof, const UploadQuestion& question) {
    if (!question.was_asked) return judged(UploadVerdict::kUnasked, "its job was not asked for it");
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error) throw IoError(fmt::format("Cannot read {}: {}.", path.string(), error.message()));
    const std::uint64_t whole = formats::checkpoint_bytes(run);
    if (size < whole) {
        return judged(UploadVerdict::kPartial, fmt::format("it has {} of {} bytes", size, whole));
    }
    if (size > whole) {
        return judged(UploadVerdict::kForged,
                      fmt::format("it has {} bytes, and a state of the run {}", size, whole));
    }
    try {
        const CheckpointFile file{path, formats::run_id(run)};
        const formats::CheckpointHead& head = file.head();
        if (head.elements != formats::element_count(run) ||
            head.vectors != formats::state_vectors(run.optimizer.name)) {
            return judged(UploadVerdict::kForged, "it is the state of another model", head);
        }
        JudgedUpload first = judge_head(head, run.steps, proof, question);
        if (first.verdict != UploadVerdict::kAccepted) return first;
        if (file.read_all() == head.digest) return first;
        return judged(UploadVerdict::kForged,
                      "its bytes do not have the digest that its head names", head);
    } catch (const InputError& unreadable) {
        return judged(UploadVerdict::kForged, clause_of(unreadable, path));
    }
}

fs::path take_upload(const fs::path& path, const fs::path& folder,
                     const formats::CheckpointHead& head, const std::string& source) {
    const fs::path taken = folder / checkpoint_file_name(head.step);
    // The note first: a checkpoint without one counts as the project's own.
    platform::replace_file(source_note_of(taken), source.substr(0, kMaxSourceBytes));
    platform::sync_file(path);
    move_durably(path, taken);
    return taken;
}

}  // namespace dedloc::backbone
