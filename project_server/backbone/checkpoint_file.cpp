#include "project_server/backbone/checkpoint_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "kernels/digest.hpp"
#include "peer/base/error.hpp"
#include "peer/state/model_state.hpp"

namespace dedloc::backbone {
namespace {

/// The most vectors that a state can have.
constexpr std::uint32_t kMaxVectors = 8;
constexpr std::size_t kHeadBytes = formats::kCheckpointHeadBytes;
/// A multiple of the leaves that are digested together.
constexpr std::size_t kPieceBytes = kernels::kLeafBytes * kernels::kLeavesTogether;

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
    throw InputError(fmt::format("{} is {}", path.string(), what));
}

}  // namespace

formats::CheckpointHead head_of_state(StepIndex step, std::span<const std::byte> state,
                                      std::uint32_t vectors) {
    return {.step = step,
            .digest = state::state_digest(step, state),
            .elements = state.size() / (sizeof(float) * vectors),
            .vectors = vectors};
}

CheckpointFile::CheckpointFile(const std::filesystem::path& path, const RunId& run)
    : file_(path, platform::DurableFile::Mode::kRead) {
    Buffer first(kHeadBytes);
    first.resize(file_.read_at(0, first));
    head_ = formats::decode_checkpoint_head(first, run, path.string());
    const std::uint64_t size = file_.size();
    const std::uint64_t state = size - std::min<std::uint64_t>(size, kHeadBytes);
    const bool is_possible = head_.vectors > 0 && head_.vectors <= kMaxVectors;
    const std::uint64_t element_bytes = is_possible ? sizeof(float) * head_.vectors : 1;
    const bool is_whole = is_possible && state / element_bytes == head_.elements &&
                          state % element_bytes == 0 && head_.elements > 0;
    if (!is_whole) {
        refuse(path, fmt::format("a checkpoint of {} vectors of {} elements, but has {} bytes of "
                                 "them",
                                 head_.vectors, head_.elements, state));
    }
}

std::uint64_t CheckpointFile::bytes() const {
    return kHeadBytes + head_.state_bytes();
}

void CheckpointFile::read(std::uint64_t offset, std::span<std::byte> out) const {
    if (file_.read_at(kHeadBytes + offset, out) < out.size()) {
        throw IoError(fmt::format("{} became shorter while read", file_.path().string()));
    }
}

Digest CheckpointFile::read_all(const Visitor& visit) const {
    const std::uint64_t total = head_.state_bytes();
    std::vector<Digest> leaves;
    Buffer piece(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, total)));
    for (std::uint64_t offset = 0; offset < total; offset += piece.size()) {
        const auto bytes = std::span{piece}.first(
            static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), total - offset)));
        read(offset, bytes);
        for (const auto& leaf : kernels::leaf_digests(bytes)) leaves.push_back(Digest{leaf});
        if (visit) visit(offset, bytes);
    }
    return state::state_digest(head_.step, leaves, total);
}

}  // namespace dedloc::backbone
