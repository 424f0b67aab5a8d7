// The files with the tensors of an exported model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "peer/base/bytes.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/huggingface/norm_file.hpp"
#include "project_server/huggingface/tensor_file.hpp"

namespace dedloc::runs {

/// One file.
struct ModelPart {
    std::string name;                               ///< the file's
    std::size_t first = 0;                          ///< index of its first tensor in the run file
    std::size_t count = 0;                          ///< tensors of the run
    std::vector<huggingface::StoredTensor> more{};  ///< tensors behind those
    Buffer bytes{};                                 ///< the bytes of these
};

/// The parts of the run's model: model.safetensors; of a SwAV that is the trunk, and
/// head.safetensors has the rest. Each has its batch norms' statistics.
/// Requires `norms` of this run for a SwAV (DEDLOC_CHECK).
std::vector<ModelPart> model_parts(const formats::RunFile& run,
                                   const std::optional<huggingface::NormFile>& norms);

/// Writes the parts as the state's bytes come by.
class ModelWriter {
  public:
    /// Begins the files in `folder`. Errors: IoError.
    ModelWriter(const std::filesystem::path& folder, const formats::RunFile& run,
                std::vector<ModelPart> parts);
    ~ModelWriter();
    ModelWriter(const ModelWriter&) = delete;
    ModelWriter& operator=(const ModelWriter&) = delete;

    /// Requires pieces in order and without gaps. Errors: IoError.
    void take(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Completes the files. Errors: IoError.
    void finish();

  private:
    class PartWriter;
    std::vector<std::unique_ptr<PartWriter>> writers_;
};

}  // namespace dedloc::runs
