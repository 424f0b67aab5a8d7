// Pickles of PyTorch, as far as they list the tensors of a model. A pickle is a program for a small
// stack machine that can call anything; here it can only name the types of storages, build
// dictionaries and tuples, and describe tensors. Nothing is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dedloc::huggingface {

/// Largest pickle that is read, in bytes.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{4} << 20;

/// A tensor as a pickle describes it: a view of a storage.
struct PickledTensor {
    std::string name;                  ///< its key in the dictionary
    std::string type;                  ///< as in safetensors: "F32", …
    std::string storage;               ///< key of the storage
    std::uint64_t storage_count = 0;   ///< elements of the storage
    std::uint64_t offset = 0;          ///< first element in the storage
    std::vector<std::uint64_t> shape;  ///< extents
    bool operator==(const PickledTensor&) const = default;
};

/// What one pickle holds.
struct Pickled {
    std::vector<PickledTensor> tensors;  ///< items of a dictionary that are tensors
    std::vector<std::string> others;     ///< keys of its other items
    std::vector<std::string> texts;      ///< texts in a list
    std::string number;                  ///< a number's bytes, little-endian
    std::size_t bytes = 0;               ///< length of the pickle
};

/// Reads the pickle that `bytes` begin with, untrusted. `document` is the file's name for messages.
/// Errors   InputError in one sentence: an instruction or object that this program does not know,
///          tensors that are not contiguous or lie outside of their storage
Pickled parse_pickle(const std::string& document, std::span<const std::byte> bytes);

}  // namespace dedloc::huggingface
