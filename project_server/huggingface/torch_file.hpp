// pytorch_model.bin: what torch.save() writes of a dictionary of tensors. Since PyTorch 1.6 it is a
// zip archive with a pickle and a file for each storage, before that a row of pickles with the
// storages behind them. Both are read.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "peer/platform/durable_file.hpp"
#include "project_server/huggingface/pickle.hpp"
#include "project_server/huggingface/tensor_file.hpp"

namespace dedloc::huggingface {

/// An untrusted file, open for reading. Places of tensors count from the begin of their storage.
class TorchFile final : public TensorFile {
  public:
    /// Reads the list of tensors. Errors: InputError (no file, not this format, damaged, or asks
    /// for more than tensors), IoError.
    explicit TorchFile(const std::filesystem::path& path);
    ~TorchFile() override;

    const std::vector<StoredTensor>& tensors() const override { return tensors_; }

  private:
    class Storages;
    class Archive;
    class Row;
    void read_bytes(const StoredTensor& tensor, std::uint64_t offset,
                    std::span<std::byte> out) const override;
    void add_tensors(const Pickled& pickled);

    std::unique_ptr<const Storages> storages_;
    std::vector<StoredTensor> tensors_;
    std::map<std::string, std::string, std::less<>> storage_of_;  ///< keys are names of tensors
};

}  // namespace dedloc::huggingface
