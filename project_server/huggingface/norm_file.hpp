// Statistics of batch norms of one state of a SwAV, as a safetensors file. dedloc-evaluate writes
// it, because it takes a forward pass; the export of a model reads it and needs no libtorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/swav_spec.hpp"

namespace dedloc::huggingface {

/// Statistics of one batch norm, by channel.
struct ChannelStatistics {
    FloatVector mean;      ///< PyTorch's running_mean
    FloatVector variance;  ///< PyTorch's running_var; here the mean squared distance from the mean
    bool operator==(const ChannelStatistics&) const = default;
};

/// The contents of a file.
struct NormFile {
    RunId run;                             ///< the state's run
    StepIndex step;                        ///< updates that the state has seen
    Digest state;                          ///< digest of the state
    std::uint64_t pictures = 0;            ///< that they are statistics of, at least 1
    std::uint64_t batch = 0;               ///< pictures that normalised one another, at least 1
    Digest list;                           ///< which pictures (swav::NormMeasurement::list)
    std::vector<ChannelStatistics> norms;  ///< in the order of the parameters
    bool operator==(const NormFile&) const = default;
};

/// A batch norm of the network.
struct NormLayer {
    std::string name;            ///< its module's: "layer1.0.bn1"
    std::uint64_t channels = 0;  ///< that it normalises
};
/// All of them, in the order of the parameters: the trunk's, then that of the projection.
std::vector<NormLayer> norm_layers(const formats::SwavSpec& task);

/// Name of the file of a state, in the folder `norms` of its run.
std::string norm_file_name(const Digest& state);

/// Replaces a file; a crash leaves the old one or the new one. Makes its folder if that is missing.
/// Requires statistics of norm_layers() (DEDLOC_CHECK). Errors: IoError.
void write_norm_file(const std::filesystem::path& path, const formats::SwavSpec& task,
                     const NormFile& norms);

/// Reads an untrusted file. Errors: InputError: no file, another format, other batch norms, a value
/// that is not finite; IoError.
NormFile read_norm_file(const std::filesystem::path& path, const formats::SwavSpec& task);

}  // namespace dedloc::huggingface
