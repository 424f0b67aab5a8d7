// Each file is replaced atomically (temporary file, rename). On recall, a decision counts only if
// it belongs to the kept generation: a later generation voids the decisions after its step.
#include "peer/tool/backbone_memory.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"
#include "peer/tool/files.hpp"
#include "peer/wire/history.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::tool {
namespace {

constexpr const char* kVote = "vote";
constexpr const char* kDecision = "decision";
constexpr const char* kGeneration = "generation";
/// File of: step (64 bits, little-endian) ‖ digest ‖ bytes of the state.
constexpr const char* kState = "state";

template <class Decode>
auto recalled(const std::filesystem::path& path, Decode decode)
    -> decltype(decode(std::span<const std::byte>{})) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    auto value =
        decode(std::span<const std::byte>{platform::read_file(path, wire::kMaxFrameBytes)});
    if (!value) {
        throw InputError(
            fmt::format("{} is damaged: a backbone without its votes must "
                        "not vote",
                        path.string()));
    }
    return value;
}

std::optional<KeptState> kept_state(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    const Buffer file = platform::read_file(path, std::filesystem::file_size(path));
    ByteReader reader(file);
    const auto step = reader.read<std::uint64_t>();
    const auto digest = reader.read<Digest>();
    if (!step || !digest) return std::nullopt;
    const auto state = *reader.take(reader.remaining());
    return KeptState{
        .step = StepIndex{*step}, .digest = *digest, .bytes = {state.begin(), state.end()}};
}

}  // namespace

BackboneMemory::BackboneMemory(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) {
        throw IoError(
            fmt::format("the folder {} cannot be created: {}", folder_.string(), error.message()));
    }
}

void BackboneMemory::recall(PeerConfig& config) const {
    config.voter = recalled(folder_ / kVote, wire::decode_voter_state);
    config.generation = recalled(folder_ / kGeneration, wire::decode_generation);
    auto decision = recalled(folder_ / kDecision, wire::decode_decision);
    if (!config.voter && !config.generation && !decision) config.voter = first_memory(0, true);
    if (!config.voter) {
        log_error("{} has decisions but no votes: this backbone does not vote", folder_.string());
    }
    const std::uint64_t generation = config.generation ? config.generation->record.generation : 0;
    if (decision && decision->record.generation == generation) {
        config.last_decision = std::move(decision);
    }
}

void BackboneMemory::keep(const VoterState& vote) const {
    platform::replace_file(folder_ / kVote, wire::encode(vote));
}
void BackboneMemory::keep(const Decision& decision) const {
    platform::replace_file(folder_ / kDecision, wire::encode(decision));
}
void BackboneMemory::keep(const SignedGeneration& generation) const {
    platform::replace_file(folder_ / kGeneration, wire::encode(generation));
    const auto kept = kept_state(folder_ / kState);
    if (kept && kept->step > generation.record.step) std::filesystem::remove(folder_ / kState);
}
void BackboneMemory::keep(StepIndex step, const Digest& digest,
                          std::span<const std::byte> state) const {
    ByteWriter file;
    file.write(step.value());
    file.append(digest.bytes);
    file.append(state);
    platform::replace_file(folder_ / kState, std::move(file).finish());
}

std::optional<KeptState> BackboneMemory::state() const {
    return kept_state(folder_ / kState);
}

}  // namespace dedloc::tool
