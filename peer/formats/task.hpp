// What of a run differs between kinds of networks, for programs without libtorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

inline constexpr std::string_view kAlbert = "albert";  ///< names AlbertSpec in a run file
inline constexpr std::string_view kSwav = "swav";      ///< names SwavSpec
inline constexpr std::string_view kModule = "module";  ///< names ModuleSpec

/// The module's name in the folder of its run, and in the slot of a job.
inline constexpr const char* kModuleFile = "module";

/// The name of the run's kind of network.
std::string_view architecture_of(const RunFile& run);

/// Data of a run's shards.
enum class ShardKind : std::uint8_t {
    kText,      ///< formats::Shard
    kPictures,  ///< PictureShard
    kTensors,   ///< TensorShard
};
/// The data of the run's shards.
ShardKind shard_kind_of(const RunFile& run);
/// Whether they hold text.
inline bool holds_text(const RunFile& run) {
    return shard_kind_of(run) == ShardKind::kText;
}

/// The number of token ids, and the longest sample in tokens that the network takes. Requires
/// holds_text() (DEDLOC_CHECK).
std::uint64_t vocabulary_of(const RunFile& run);
std::uint64_t longest_sequence(const RunFile& run);

/// The tensors of the run's network, which RunFile::tensors must be. Those of a module are only in
/// its file and in RunFile::tensors.
std::vector<TensorSpec> tensors_of(const RunFile& run);

/// Floating-point operations to train on one sample, for credit.
double flops_per_sample(const RunFile& run);

/// Whether GPUs can train the run's network. On a GPU neither a module's memory nor its operators
/// are bounded yet.
bool runs_on_gpus(const RunFile& run);
/// Bytes of a GPU's memory that jobs of a run need if none can train it: more than any has.
inline constexpr double kMoreThanAnyGpu = 1e18;

/// The loss of a model that guesses.
struct GuessingLoss {
    const char* formula = "";  ///< for people: "ln V + ln 2"
    double value = 0;          ///< in nats
};
/// The loss of guessing for a network of the run's kind and shape; nothing for a module, which says
/// nothing of its loss.
std::optional<GuessingLoss> guessing_loss(const RunFile& run);

/// Samples that are computed together, because the loss of one depends on the others: micro-batches
/// and contributions consist of whole units of so many. 1: each is computed by itself.
std::uint64_t samples_together(const RunFile& run);

}  // namespace dedloc::formats
