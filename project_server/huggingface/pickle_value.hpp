// The values that a pickle builds, and what is made of those that describe a tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/huggingface/pickle.hpp"

namespace dedloc::huggingface {

/// Throws InputError "<document>: <what>".
[[noreturn]] void refuse_pickle(const std::string& document, const std::string& what);
/// The same for a pickle that contradicts itself.
[[noreturn]] void refuse_damaged_pickle(const std::string& document);

/// What is kept of a dictionary or list.
struct Contents {
    std::vector<PickledTensor> tensors;  ///< items of a dictionary that are tensors
    std::vector<std::string> others;     ///< keys of its other items
    std::vector<std::string> texts;      ///< texts in a list
};

/// A value on the stack.
struct Value {
    /// What it is.
    enum class Kind : std::uint8_t {
        kNone,        ///< None, or a number with a fraction
        kNumber,      ///< a whole number, True or False
        kText,        ///< a text
        kTuple,       ///< a tuple
        kDictionary,  ///< a dictionary
        kList,        ///< a list
        kGlobal,      ///< a class or function, by its name
        kStorage,     ///< a storage
        kTensor,      ///< a tensor
        kMark         ///< the place that an instruction for several values goes back to
    };
    Kind kind = Kind::kNone;               ///< what it is
    std::string text;                      ///< a text; a global's name; a number's bytes
    std::int64_t number = 0;               ///< a number's value, if it has at most 64 bits
    int depth = 0;                         ///< how deep tuples are nested in it
    std::vector<Value> items;              ///< a tuple's values
    std::shared_ptr<Contents> contents{};  ///< a dictionary's or list's: shared, as in Python
    PickledTensor tensor{};                ///< a tensor; a storage, without offset and shape
};

/// The type of a storage's elements by Python's name ("torch FloatStorage"), as in safetensors;
/// empty: it is none.
std::string_view type_of_storage(std::string_view name);

/// A storage from the tuple that stands for it: ("storage", type, key, location, number of
/// elements, …). Errors: InputError.
Value storage_of(const std::string& document, const Value& id);

/// A tensor from the arguments of its function: storage, first element, shape, strides, ….
/// Errors: InputError.
Value tensor_of(const std::string& document, const std::vector<Value>& arguments);

}  // namespace dedloc::huggingface
