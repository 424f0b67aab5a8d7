// Names of tensors are PyTorch's, so the file can be loaded into a torchvision network beside its
// parameters. What is not a tensor is in the metadata, as text.
#include "project_server/huggingface/norm_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/swav_layout.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/safetensors.hpp"

namespace dedloc::huggingface {
namespace {

constexpr const char* kMeanSuffix = ".running_mean";
constexpr const char* kVarianceSuffix = ".running_var";

/// Reads the metadata of a file.
class NormFacts {
  public:
    explicit NormFacts(const SafetensorsFile& file) : file_(file) {}

    template <class Tag>
    Bytes32<Tag> digest(const char* name) const {
        Bytes32<Tag> value;
        if (!Bytes32<Tag>::parse(text(name), value)) refuse(name);
        return value;
    }
    std::uint64_t number(const char* name, std::uint64_t least) const {
        const std::string digits = text(name);
        std::uint64_t value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc{} || end != digits.data() + digits.size() || value < least) {
            refuse(name);
        }
        return value;
    }

  private:
    std::string text(const char* name) const {
        const auto found = file_.header().metadata.find(name);
        return found == file_.header().metadata.end() ? std::string{} : found->second;
    }
    [[noreturn]] void refuse(const char* name) const {
        throw InputError(
            fmt::format("{} is not a file of batch norms' statistics: its field '{}' "
                        "is missing or wrong",
                        file_.name(), name));
    }

    const SafetensorsFile& file_;
};

FloatVector read_channels(const SafetensorsFile& file, const std::string& name,
                          std::uint64_t channels) {
    const StoredTensor* const tensor = file.find(name);
    if (tensor == nullptr || tensor->shape != std::vector{channels}) {
        throw InputError(
            fmt::format("{} has no statistics '{}' of {} channels", file.name(), name, channels));
    }
    FloatVector values(channels);
    file.read(*tensor, values);
    return values;
}

}  // namespace

std::vector<NormLayer> norm_layers(const formats::SwavSpec& task) {
    std::vector<NormLayer> layers;
    for (const formats::Convolution& map : formats::convolutions(task.trunk)) {
        layers.push_back({.name = map.norm, .channels = map.outputs});
    }
    if (task.hidden > 0) layers.push_back({.name = "projection_head.1", .channels = task.hidden});
    return layers;
}

std::string norm_file_name(const Digest& state) {
    return state.hex() + ".safetensors";
}

void write_norm_file(const std::filesystem::path& path, const formats::SwavSpec& task,
                     const NormFile& norms) {
    const auto layers = norm_layers(task);
    DEDLOC_CHECK(norms.norms.size() == layers.size(), "statistics of another network",
                 norms.norms.size());
    std::vector<StoredTensor> tensors;
    ByteWriter data;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto add = [&](const char* suffix, const FloatVector& values) {
            DEDLOC_CHECK(values.size() == layers[i].channels, "statistics of other channels",
                         values.size());
            tensors.push_back(
                {.name = layers[i].name + suffix, .type = "F32", .shape = {values.size()}});
            data.append(std::as_bytes(std::span{values}));
        };
        add(kMeanSuffix, norms.norms[i].mean);
        add(kVarianceSuffix, norms.norms[i].variance);
    }
    ByteWriter file;
    file.append(bytes_of(
        write_safetensors_head(std::move(tensors), {{"run", norms.run.hex()},
                                                    {"step", fmt::format("{}", norms.step.value())},
                                                    {"state", norms.state.hex()},
                                                    {"pictures", fmt::format("{}", norms.pictures)},
                                                    {"batch", fmt::format("{}", norms.batch)},
                                                    {"list", norms.list.hex()}})));
    file.append(std::move(data).finish());
    std::filesystem::create_directories(path.parent_path());
    platform::replace_file(path, std::move(file).finish());
}

NormFile read_norm_file(const std::filesystem::path& path, const formats::SwavSpec& task) {
    const SafetensorsFile file{path};
    const NormFacts facts{file};
    NormFile norms{.run = facts.digest<RunIdTag>("run"),
                   .step = StepIndex{facts.number("step", 0)},
                   .state = facts.digest<DigestTag>("state"),
                   .pictures = facts.number("pictures", 1),
                   .batch = facts.number("batch", 1),
                   .list = facts.digest<DigestTag>("list"),
                   .norms = {}};
    const auto layers = norm_layers(task);
    if (file.tensors().size() != 2 * layers.size()) {
        throw InputError(fmt::format("{} has {} tensors, but the network has {} batch norms",
                                     file.name(), file.tensors().size(), layers.size()));
    }
    for (const NormLayer& layer : layers) {
        norms.norms.push_back(
            {.mean = read_channels(file, layer.name + kMeanSuffix, layer.channels),
             .variance = read_channels(file, layer.name + kVarianceSuffix, layer.channels)});
    }
    return norms;
}

}  // namespace dedloc::huggingface
