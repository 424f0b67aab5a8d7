// The run file: everything that defines a run, as JSON, the input file `run.json` of every job.
// Who holds the same run file trains the same model: the run's id is the digest of its canonical
// form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::formats {

inline constexpr std::size_t kMaxRunFileBytes = std::size_t{1} << 22;
inline constexpr std::size_t kMaxTensors = 16'384;
inline constexpr std::size_t kMaxShards = 4'096;
inline constexpr std::size_t kMaxNameBytes = 254;

/// Shape of a model. Every field is a count.
struct ModelSpec {
    std::string architecture = "albert";
    std::uint64_t vocabulary = 0;
    std::uint64_t embedding = 0;
    std::uint64_t hidden = 0;
    std::uint64_t layers = 0;
    std::uint64_t heads = 0;
    std::uint64_t ffn = 0;
    std::uint64_t positions = 0;
    bool operator==(const ModelSpec&) const = default;
};

struct OptimizerSpec {
    std::string name = "lamb";
    double learning_rate = 0.00176;  ///< the peak
    std::uint64_t warmup_steps = 0;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-6;
    double weight_decay = 0.01;
    double clip_norm = 1.0;  ///< bound of the averaged gradient's norm; 0: no clipping
    bool operator==(const OptimizerSpec&) const = default;
};

struct ShardReference {
    std::string name;
    Digest digest;  ///< BLAKE2b of the file
    std::uint64_t bytes = 0;
    bool operator==(const ShardReference&) const = default;
};

/// Token ids with a meaning of their own.
struct SpecialTokens {
    std::uint16_t pad = 0;
    std::uint16_t unknown = 1;
    std::uint16_t cls = 2;
    std::uint16_t sep = 3;
    std::uint16_t mask = 4;
    bool operator==(const SpecialTokens&) const = default;
};

/// What a tensor's elements are before the first step.
enum class Initial : std::uint8_t { kZero, kOne, kNormal };

/// One tensor of the model. Its place in the flat vector follows from the order of the list.
struct TensorSpec {
    std::string name;
    std::vector<std::uint64_t> shape;
    Initial initial = Initial::kZero;
    double deviation = 0;  ///< of kNormal, else 0
    bool decays = false;   ///< weight decay applies
    std::uint64_t count() const {
        std::uint64_t product = 1;
        for (const std::uint64_t extent : shape) product *= extent;
        return product;
    }
    bool operator==(const TensorSpec&) const = default;
};

struct RunFile {
    std::string name;
    std::uint64_t seed = 0;
    ModelSpec model;
    std::uint64_t sequence_length = 0;  ///< tokens a sample
    std::uint64_t micro_batch = 0;      ///< samples
    std::uint64_t target_batch = 0;     ///< samples of one step of the swarm
    std::uint64_t steps = 0;            ///< updates until the run is finished
    OptimizerSpec optimizer;
    double flops_per_sample = 0;
    PeerKey project_key;
    PeerKey backbone_key;
    std::string gateway;   ///< URL with a slash at its end, where peers get tickets; empty: links
                           ///< of this run prove nothing and are not encrypted
    bool encrypts = true;  ///< "encryption": "on" (as if it were not there) or "off"; links are
                           ///< proven in any case, so "off" is for a network of one's own
    Codec codec = Codec::kFp32;  ///< "codec": "fp32" (as if it were not there) or "fp16"
    std::vector<Endpoint> dht_seeds;
    std::vector<ShardReference> shards;
    SpecialTokens special_tokens;
    std::vector<TensorSpec> tensors;
    bool operator==(const RunFile&) const = default;
};

/// Reads a run file and checks every field and the relations between them: heads divide hidden,
/// the sequence fits the positions, names are unique, sums fit their limits.
///
/// Errors   InputError, one sentence that names the field, also for unknown and repeated fields
RunFile parse_run_file(std::string_view json);

/// Canonical JSON: fixed order of fields, no white space, shortest numbers that read back equal.
/// parse_run_file(write_run_file(run)) == run for every run that parse_run_file accepts.
/// Errors   InputError, as parse_run_file: what cannot be read is not written
std::string write_run_file(const RunFile& run);

/// BLAKE2b of the canonical JSON.
RunId run_id(const RunFile& run);

/// Elements of all tensors together: N.
std::uint64_t element_count(const RunFile& run);

/// Cobblestones for one sample: 200 a day for a machine of 10⁹ FLOP/s (BOINC's definition).
double credit_per_sample(const RunFile& run);

}  // namespace dedloc::formats
