// Everything before the vectors is read in one piece of bounded size, because nothing in a file
// from a volunteer's disk is trusted: lengths are compared with the file's before anything is
// allocated, and the digest of the vectors is computed before they are used.
#include "boinc_app/seat/saved_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/digest.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/training_memory.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/platform/file_writer.hpp"
#include "peer/platform/files.hpp"
#include "peer/state/model_state.hpp"
#include "peer/wire/history.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::seat {
namespace {

constexpr std::string_view kMagic = "DEDLOCOS";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFixedBytes = kMagic.size() + 3 * sizeof(std::uint32_t);
constexpr std::size_t kSealBytes = sizeof(Digest);
/// A record of the history fits a frame.
constexpr std::size_t kMaxRecordBytes = wire::kMaxFrameBytes;
constexpr std::size_t kPieceBytes = kernels::kLeafBytes * kernels::kLeavesTogether;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
    throw InputError{fmt::format("{} is {}", path.string(), what)};
}

/// Writes a file under another name, and then gives it its own, durably. On failure nothing is left
/// of it. Errors: IoError.
void write_whole(const std::filesystem::path& unfinished, const std::filesystem::path& path,
                 const std::function<void(platform::FileWriter&)>& write) {
    try {
        platform::FileWriter file{unfinished};
        write(file);
        file.finish();
        platform::move_file(unfinished, path);
    } catch (const IoError&) {
        std::error_code ignored;
        std::filesystem::remove(unfinished, ignored);
        throw;
    }
}

/// The first part of the file: the place in the history.
Buffer place_bytes(const StatePlace& place) {
    const Buffer generation = place.generation ? wire::encode(*place.generation) : Buffer{};
    const Buffer decision = wire::encode(place.decision);
    ByteWriter writer;
    writer.append(bytes_of(kMagic));
    writer.write(kVersion);
    writer.write(static_cast<std::uint32_t>(generation.size()));
    writer.write(static_cast<std::uint32_t>(decision.size()));
    writer.append(generation);
    writer.append(decision);
    Buffer bytes = std::move(writer).finish();
    const Digest seal = blake2b(bytes);
    bytes.insert(bytes.end(), seal.bytes.begin(), seal.bytes.end());
    return bytes;
}

Buffer read_exactly(const platform::DurableFile& file, std::uint64_t offset, std::size_t size) {
    Buffer bytes(size);
    if (file.read_at(offset, bytes) != size) refuse(file.path(), "cut short");
    return bytes;
}

/// Reads the first part. Returns the offset of the checkpoint.
std::size_t read_place(const platform::DurableFile& file, StatePlace& place) {
    const Buffer fixed = read_exactly(file, 0, kFixedBytes);
    ByteReader lengths{fixed};
    const auto magic = lengths.take(kMagic.size());
    if (!std::ranges::equal(*magic, bytes_of(kMagic))) refuse(file.path(), "no saved state");
    if (*lengths.read<std::uint32_t>() != kVersion) refuse(file.path(), "of another version");
    const std::size_t generation_bytes = *lengths.read<std::uint32_t>();
    const std::size_t decision_bytes = *lengths.read<std::uint32_t>();
    if (std::max(generation_bytes, decision_bytes) > kMaxRecordBytes) {
        refuse(file.path(), "damaged: a record of its history is too long");
    }
    const std::size_t sealed = kFixedBytes + generation_bytes + decision_bytes;
    const Buffer all = read_exactly(file, 0, sealed + kSealBytes);
    const auto records = std::span{all}.first(sealed);
    if (!std::ranges::equal(blake2b(records).bytes, std::span{all}.subspan(sealed))) {
        refuse(file.path(), "damaged in its history");
    }
    if (generation_bytes > 0) {
        place.generation = wire::decode_generation(records.subspan(kFixedBytes, generation_bytes));
        if (!place.generation) refuse(file.path(), "damaged: its generation cannot be read");
    }
    auto decision = wire::decode_decision(records.subspan(kFixedBytes + generation_bytes));
    if (!decision) refuse(file.path(), "damaged: its decision cannot be read");
    place.decision = std::move(*decision);
    return sealed + kSealBytes;
}

/// Whether a majority of the voters, as the project has appointed them, have signed this place.
bool is_proven(const StatePlace& place, const formats::RunFile& run) {
    const RunId id = formats::run_id(run);
    const CommitRecord& record = place.decision.record;
    std::vector<PeerKey> voters{run.backbone_key};
    std::uint64_t number = 0;
    if (place.generation) {
        if (!membership::is_signed(id, run.project_key, *place.generation)) return false;
        voters = place.generation->record.voters;
        number = place.generation->record.generation;
        if (record.step < place.generation->record.step) return false;
    }
    return record.generation == number && record.step < StepIndex{run.steps} &&
           membership::is_certified(id, voters, record, place.decision.certificate);
}

/// Reads the vectors and checks their digest.
SharedBytes read_vectors(const platform::DurableFile& file, std::uint64_t offset,
                         const formats::CheckpointHead& head) {
    auto bytes = std::make_shared<Buffer>(static_cast<std::size_t>(head.state_bytes()));
    std::vector<Digest> leaves;
    for (std::size_t done = 0; done < bytes->size(); done += kPieceBytes) {
        const auto piece =
            std::span{*bytes}.subspan(done, std::min(kPieceBytes, bytes->size() - done));
        if (file.read_at(offset + done, piece) != piece.size()) refuse(file.path(), "cut short");
        for (const auto& leaf : kernels::leaf_digests(piece)) leaves.push_back(Digest{leaf});
    }
    if (state::state_digest(head.step, leaves, bytes->size()) != head.digest) {
        refuse(file.path(), "damaged: its state does not have the digest of its head");
    }
    return bytes;
}

}  // namespace

void write_state_file(const std::filesystem::path& path, const RunId& run, const StatePlace& place,
                      const StateToSave& state) {
    DEDLOC_CHECK(place.step() == state.head.step, "a decision leads to the state that is saved",
                 place.step().value(), state.head.step.value());
    std::filesystem::path unfinished = path;
    unfinished += ".tmp";
    write_whole(unfinished, path, [&](platform::FileWriter& file) {
        file.write(place_bytes(place));
        file.write(formats::encode_checkpoint_head(run, state.head));
        Buffer piece(kPieceBytes);
        const std::uint64_t size = state.bytes->size();
        for (std::uint64_t done = 0; done < size; done += kPieceBytes) {
            piece.resize(std::min<std::uint64_t>(kPieceBytes, size - done));
            state.bytes->read(done, piece);
            file.write(piece);
        }
    });
}

StepIndex export_checkpoint(const std::filesystem::path& path, const RunId& run,
                            const std::filesystem::path& unfinished,
                            const std::filesystem::path& checkpoint) {
    const platform::DurableFile file{path, platform::DurableFile::Mode::kRead};
    StatePlace place;
    std::uint64_t offset = read_place(file, place);
    const Buffer head = read_exactly(file, offset, formats::kCheckpointHeadBytes);
    const StepIndex step = formats::decode_checkpoint_head(head, run, path.string()).step;
    write_whole(unfinished, checkpoint, [&](platform::FileWriter& out) {
        Buffer piece(kPieceBytes);
        while (const std::size_t size = file.read_at(offset, piece)) {
            out.write(std::span{piece}.first(size));
            offset += size;
        }
    });
    return step;
}

SavedState read_state_file(const std::filesystem::path& path, const formats::RunFile& run) {
    const platform::DurableFile file{path, platform::DurableFile::Mode::kRead};
    SavedState saved;
    const std::size_t checkpoint = read_place(file, saved.place);
    const Buffer head = read_exactly(file, checkpoint, formats::kCheckpointHeadBytes);
    saved.state.head = formats::decode_checkpoint_head(head, formats::run_id(run), path.string());
    const formats::CheckpointHead& claimed = saved.state.head;
    if (claimed.elements != formats::element_count(run) ||
        claimed.vectors != formats::state_vectors(run.optimizer.name)) {
        refuse(path, "the state of another model");
    }
    const std::uint64_t vectors = checkpoint + formats::kCheckpointHeadBytes;
    if (file.size() != vectors + claimed.state_bytes()) refuse(path, "not of its full size");
    if (claimed.step != saved.place.step()) refuse(path, "damaged: its steps differ");
    if (!is_proven(saved.place, run)) refuse(path, "of a step that no voters have decided");
    saved.state.bytes = read_vectors(file, vectors, claimed);
    return saved;
}

}  // namespace dedloc::seat
