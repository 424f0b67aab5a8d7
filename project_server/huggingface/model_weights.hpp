// The tensors of a model's folder, in whichever of the forms of transformers they are.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/huggingface/tensor_file.hpp"

namespace dedloc::huggingface {

/// Tensors of AlbertForPreTraining or a part of it, in one file or several: model.safetensors,
/// pytorch_model.bin, or either in shards with an index; the first of them that is there. A name
/// without the prefix `albert.`, as AlbertModel has, gets it.
class ModelWeights final {
  public:
    /// Opens the files. Errors: InputError in one sentence that names the file and says what to do:
    /// none of these forms, an index with a name that leaves the folder, a missing or damaged
    /// shard, a tensor in two shards or not where the index says.
    explicit ModelWeights(const std::filesystem::path& folder);

    /// The file, or the index, for messages.
    const std::string& name() const { return name_; }
    /// Names of all tensors.
    std::vector<std::string> names() const;
    /// The tensor of this name; null if there is none.
    const StoredTensor* find(std::string_view name) const;
    /// Reads it, as TensorFile::read() does. Requires that find() finds it (aborts).
    void read(std::string_view name, std::span<float> out) const;

  private:
    struct Place {
        std::string name;          ///< its name with the prefix
        const TensorFile* file{};  ///< one of files_
        const StoredTensor* tensor{};
    };
    void add(std::unique_ptr<const TensorFile> file);
    void add_shards(const std::filesystem::path& index);
    const Place* place_of(std::string_view name) const;

    std::string name_;
    std::vector<std::unique_ptr<const TensorFile>> files_;
    std::vector<Place> places_;  ///< sorted by name
};

}  // namespace dedloc::huggingface
