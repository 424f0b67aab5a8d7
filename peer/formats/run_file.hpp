// The run file: everything that defines a run, as JSON. It is the input file `run.json` of every
// job. Peers with the same run file train the same model: the id of the run is the digest of the
// file's canonical form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/module_spec.hpp"
#include "peer/formats/optimizer.hpp"
#include "peer/formats/source_spec.hpp"
#include "peer/formats/swav_spec.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::formats {

/// The version of the format that this program reads and writes. It rises when the same file would
/// stand for another state. Version 2: every tensor begins at a multiple of kTensorAlignment
/// elements, and samples are drawn one by one (version 1 had no gaps and drew micro-batches).
inline constexpr std::uint64_t kRunFileVersion = 2;
/// Every tensor begins at a multiple of this many elements (256 bytes) of the flat vector.
inline constexpr std::uint64_t kTensorAlignment = 64;

inline constexpr std::size_t kMaxRunFileBytes = std::size_t{1} << 22;  ///< size of the file
inline constexpr std::size_t kMaxTensors = 16'384;                     ///< tensors of a model
inline constexpr std::size_t kMaxShards = 4'096;                       ///< shards of a run
inline constexpr std::uint64_t kMaxShardWeight = 1'000'000;            ///< weight of a shard
inline constexpr std::size_t kMaxNameBytes = 254;                      ///< most names in the file
inline constexpr double kMaxDropout = 0.9;                             ///< highest rate of dropout
inline constexpr std::uint64_t kMaxUnitRows = 65'536;  ///< rows of unit length in a model

/// The dimensions of an ALBERT.
struct AlbertSpec {
    std::uint64_t vocabulary = 0;  ///< token ids are below this
    std::uint64_t embedding = 0;   ///< width of the embeddings
    std::uint64_t hidden = 0;      ///< width of the layers
    std::uint64_t layers = 0;      ///< number of layers, which share their parameters
    std::uint64_t heads = 0;       ///< attention heads; divides `hidden`
    std::uint64_t ffn = 0;         ///< width of the feed-forward part
    std::uint64_t positions = 0;   ///< longest sequence
    // Dropout; a rate that is absent from the file is 0.
    double hidden_dropout = 0;      ///< rate for embeddings and attention's outputs
    double attention_dropout = 0;   ///< rate for attention's weights
    double classifier_dropout = 0;  ///< rate for the sentence-order classifier's input
    bool operator==(const AlbertSpec&) const = default;
};

/// What a run trains: a network with its loss. "architecture" in the file names the alternative:
/// "albert", "swav", "module".
using ModelSpec = std::variant<AlbertSpec, SwavSpec, ModuleSpec>;

/// One file of the corpus.
struct ShardReference {
    std::string name;         ///< name of the file
    Digest digest;            ///< BLAKE2b of the file
    std::uint64_t bytes = 0;  ///< size of the file
    /// How many times as often as a start of a shard with weight 1 (the default) one of its starts
    /// is drawn.
    std::uint64_t weight = 1;
    /// Index of its source in the list of sources; 0 (the default) if the list is empty.
    std::uint32_t source = 0;
    /// "held_out": no job trains on it; the project measures the model with it.
    bool is_held_out = false;
    bool operator==(const ShardReference&) const = default;
};

/// Ids of tokens with a special meaning. All differ.
struct SpecialTokens {
    std::uint16_t pad = 0;      ///< fills a sequence that is too short
    std::uint16_t unknown = 1;  ///< stands for text outside the vocabulary
    std::uint16_t cls = 2;      ///< begins every sequence
    std::uint16_t sep = 3;      ///< ends a sentence
    std::uint16_t mask = 4;     ///< replaces masked tokens
    bool operator==(const SpecialTokens&) const = default;
};

/// The elements of a tensor before the first step: all 0, all 1, or normally distributed.
enum class Initial : std::uint8_t { kZero, kOne, kNormal };

/// One tensor of the model. Its place in the flat vector follows from the order of the list
/// (tensor_offsets).
struct TensorSpec {
    std::string name;                  ///< unique in the model
    std::vector<std::uint64_t> shape;  ///< extents, 1 to 8 of them
    Initial initial = Initial::kZero;  ///< elements at the start
    double deviation = 0;              ///< standard deviation with kNormal, else 0
    bool decays = false;               ///< weight decay applies
    /// "unit_rows": each row, which is all extents but the first, is scaled to length 1 at first
    /// and after every update; a row of zeros stays one. Not in the file if false (the default).
    bool has_unit_rows = false;
    /// The first updates, which leave this tensor and its moments as they are. Not in the file if 0
    /// (the default).
    std::uint64_t frozen_steps = 0;
    /// Number of elements.
    std::uint64_t count() const {
        std::uint64_t product = 1;
        for (const std::uint64_t extent : shape) product *= extent;
        return product;
    }
    /// Number of elements that it takes in the flat vector, with the zeros after it.
    std::uint64_t padded_count() const {
        return (count() + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    }
    bool operator==(const TensorSpec&) const = default;
};

/// The contents of a run file. Fields have the same names in the file unless noted. The first field
/// of the file is "version": kRunFileVersion.
struct RunFile {
    std::string name;        ///< name of the run, at most 64 bytes
    std::uint64_t seed = 0;  ///< seed of the initial state and of the data order
    /// Digest of the state at step 0, which members then fetch as any other state. Absent (the
    /// default): the state follows from `seed` and the tensors.
    std::optional<Digest> initial_state;
    ModelSpec model;                    ///< the network and its loss
    std::uint64_t sequence_length = 0;  ///< tokens per sample; 0 and absent unless shards hold text
    std::uint64_t target_batch = 0;     ///< samples per step of the swarm
    std::uint64_t steps = 0;            ///< updates until the run is finished
    OptimizerSpec optimizer;            ///< the optimizer and its schedule
    double flops_per_sample = 0;        ///< for credit
    PeerKey project_key;                ///< signs generations, pauses, revocations and tickets
    /// Signs tickets and nothing else: the key that the project's gateway holds. Absent (the
    /// default): only the project's key signs tickets.
    std::optional<PeerKey> ticket_key;
    PeerKey backbone_key;  ///< the first voter
    /// URL, ending with a slash, where peers get tickets. Empty: links of this run prove nothing
    /// and are not encrypted.
    std::string gateway;
    /// "encryption": "on" (the default) or "off". Links prove their ends in both cases, so "off" is
    /// for a private network.
    bool encrypts = true;
    Codec codec = Codec::kFp32;  ///< "fp32" (the default), "fp16", "bf16", "int8"
    /// "overlap": trainers compute for the next round while a round is on its way. False by
    /// default.
    bool overlaps = false;
    std::vector<Endpoint> dht_seeds;  ///< addresses of DHT nodes to start from
    /// "sources" that samples are drawn from in proportion to their weights, until the project
    /// changes the mixture. Empty (the default): all shards are of one source without a name.
    std::vector<SourceSpec> sources;
    std::vector<ShardReference> shards;  ///< the corpus
    /// The number of the last elements of `sources` and `shards` that the project has added in
    /// mid-run (added_source.hpp). Not in the file.
    std::size_t added_sources = 0, added_shards = 0;
    std::uint64_t shards_per_job = 0;  ///< that a job trains on; 0 (the default): all
    SpecialTokens special_tokens;     ///< ids of tokens with a special meaning; absent without text
    std::vector<TensorSpec> tensors;  ///< the flat parameter vector, in this order
    bool operator==(const RunFile&) const = default;
};

/// Reads a run file. Checks every field and the relations between fields: heads divide hidden, the
/// sequence fits the positions, names are unique, sums are within their limits.
///
/// Errors   InputError with one sentence that names the field, also if it is unknown or repeated;
///          for a file of another version, a sentence that says what to do
RunFile parse_run_file(std::string_view json);

/// The canonical form: JSON with a fixed order of fields, no white space, and the shortest numbers
/// that read back equal, without added sources. parse_run_file(write_run_file(run)) == run if there
/// are none.
/// Errors   InputError, as parse_run_file(): a run that it would refuse is not written
std::string write_run_file(const RunFile& run);

/// The dimensions of the run's ALBERT. Requires that it trains one (DEDLOC_CHECK).
const AlbertSpec& albert_of(const RunFile& run);
/// The same, to change them.
AlbertSpec& albert_of(RunFile& run);

/// The run's id: BLAKE2b of the canonical form.
RunId run_id(const RunFile& run);

/// Whether a key that the run file names for tickets has signed this one: the project's key or the
/// ticket key. Checks neither run nor times.
[[nodiscard]] bool is_signed_for(const RunFile& run, const SignedTicket& ticket);

/// The first element of each tensor in the flat vector. Tensors are in the list's order, each at a
/// multiple of kTensorAlignment. The elements between them are zero.
std::vector<std::uint64_t> tensor_offsets(const RunFile& run);

/// N, the length of the flat vector that peers hold, average and digest: all tensors and the zeros
/// after each, a multiple of kTensorAlignment.
std::uint64_t element_count(const RunFile& run);

/// The number of the model's parameters: N without the zeros.
std::uint64_t parameter_count(const RunFile& run);

/// Credit for one sample in cobblestones: a machine with 10⁹ FLOP/s earns 200 per day (BOINC's
/// definition).
double credit_per_sample(const RunFile& run);

}  // namespace dedloc::formats
