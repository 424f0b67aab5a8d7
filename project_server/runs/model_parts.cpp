// Ranges of the state's bytes are copied into the files in the order of the run file; what is not a
// part of the state, the statistics of batch norms, comes behind.
#include "project_server/runs/model_parts.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/formats/swav_layout.hpp"
#include "peer/platform/file_writer.hpp"
#include "project_server/huggingface/safetensors.hpp"

namespace dedloc::runs {
namespace {

using huggingface::StoredTensor;

/// Tensors of the run for each convolution: its weight, and its batch norm's weight and bias.
constexpr std::size_t kTensorsPerConvolution = 3;

/// Adds PyTorch's buffers of a batch norm.
void add_norm(ModelPart& part, const std::string& name,
              const huggingface::ChannelStatistics& channels, std::uint64_t batches) {
    ByteWriter bytes;
    const auto add = [&](const char* suffix, const FloatVector& values) {
        part.more.push_back({.name = name + suffix, .type = "F32", .shape = {values.size()}});
        bytes.append(std::as_bytes(std::span{values}));
    };
    add(".running_mean", channels.mean);
    add(".running_var", channels.variance);
    part.more.push_back({.name = name + ".num_batches_tracked", .type = "I64", .shape = {}});
    bytes.write(batches);
    const Buffer all = std::move(bytes).finish();
    part.bytes.insert(part.bytes.end(), all.begin(), all.end());
}

}  // namespace

std::vector<ModelPart> model_parts(const formats::RunFile& run,
                                   const std::optional<huggingface::NormFile>& norms) {
    const auto* const swav = std::get_if<formats::SwavSpec>(&run.model);
    if (swav == nullptr) {
        return {{.name = "model.safetensors", .first = 0, .count = run.tensors.size()}};
    }
    const auto layers = huggingface::norm_layers(*swav);
    DEDLOC_CHECK(norms && norms->norms.size() == layers.size(), "statistics of another network");
    const std::size_t convolutions = formats::convolutions(swav->trunk).size();
    const std::size_t trunk = kTensorsPerConvolution * convolutions;
    std::vector<ModelPart> parts{
        {.name = "model.safetensors", .first = 0, .count = trunk},
        {.name = "head.safetensors", .first = trunk, .count = run.tensors.size() - trunk}};
    for (std::size_t i = 0; i < layers.size(); ++i) {
        add_norm(parts[i < convolutions ? 0 : 1], layers[i].name, norms->norms[i],
                 norms->pictures / norms->batch);
    }
    return parts;
}

/// Writes one part.
class ModelWriter::PartWriter {
  public:
    PartWriter(const std::filesystem::path& folder, const formats::RunFile& run, ModelPart part)
        : part_(std::move(part)), file_(folder / part_.name) {
        const auto ranges = backbone::parameter_ranges(run);
        std::vector<StoredTensor> tensors;
        for (std::size_t i = part_.first; i < part_.first + part_.count; ++i) {
            ranges_.push_back(ranges[i]);
            const formats::TensorSpec& tensor = run.tensors[i];
            tensors.push_back({.name = tensor.name, .type = "F32", .shape = tensor.shape});
        }
        tensors.insert(tensors.end(), part_.more.begin(), part_.more.end());
        file_.write(bytes_of(huggingface::write_safetensors_head(std::move(tensors))));
    }

    void take(std::uint64_t offset, std::span<const std::byte> bytes) {
        const std::uint64_t end = offset + bytes.size();
        for (; next_ < ranges_.size() && ranges_[next_].begin < end; ++next_) {
            const backbone::ByteRange& range = ranges_[next_];
            const std::uint64_t from = std::max(range.begin, offset);
            file_.write(bytes.subspan(static_cast<std::size_t>(from - offset),
                                      static_cast<std::size_t>(std::min(range.end, end) - from)));
            if (range.end > end) break;
        }
    }
    void finish() {
        file_.write(part_.bytes);
        file_.finish();
    }

  private:
    const ModelPart part_;
    std::vector<backbone::ByteRange> ranges_;
    platform::FileWriter file_;
    std::size_t next_ = 0;  ///< the range that is being written
};

ModelWriter::ModelWriter(const std::filesystem::path& folder, const formats::RunFile& run,
                         std::vector<ModelPart> parts) {
    for (ModelPart& part : parts) {
        writers_.push_back(std::make_unique<PartWriter>(folder, run, std::move(part)));
    }
}

ModelWriter::~ModelWriter() = default;

void ModelWriter::take(std::uint64_t offset, std::span<const std::byte> bytes) {
    for (const auto& writer : writers_) writer->take(offset, bytes);
}

void ModelWriter::finish() {
    for (const auto& writer : writers_) writer->finish();
}

}  // namespace dedloc::runs
