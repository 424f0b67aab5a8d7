#include "project_server/huggingface/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/arithmetic.hpp"
#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::huggingface {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

template <class Element>
void widen(std::span<const std::byte> bytes, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Element element;
        std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
        out[i] = kernels::to_float(element);
    }
}

}  // namespace

std::uint64_t bytes_of_type(std::string_view type) {
    static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 14> kTypes{
        {{"BOOL", 1},
         {"U8", 1},
         {"I8", 1},
         {"F8_E4M3", 1},
         {"F8_E5M2", 1},
         {"I16", 2},
         {"U16", 2},
         {"F16", 2},
         {"BF16", 2},
         {"I32", 4},
         {"U32", 4},
         {"F32", 4},
         {"I64", 8},
         {"F64", 8}}};
    const auto* const found =
        std::ranges::find(kTypes, type, [](const auto& row) { return row.first; });
    return found == kTypes.end() ? 0 : found->second;
}

std::uint64_t StoredTensor::count() const {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : shape) product *= extent;
    return product;
}

const StoredTensor* TensorFile::find(std::string_view name) const {
    const auto found = std::ranges::find(tensors(), name, &StoredTensor::name);
    return found == tensors().end() ? nullptr : &*found;
}

void TensorFile::read(const StoredTensor& tensor, std::span<float> out) const {
    DEDLOC_CHECK(out.size() == tensor.count(), "a tensor has another number of elements",
                 out.size(), tensor.count());
    if (tensor.type != "F32" && tensor.type != "F16" && tensor.type != "BF16") {
        throw InputError(fmt::format("{}: the tensor {} has the type {}, not F32, F16 or BF16",
                                     name_, tensor.name, tensor.type));
    }
    const std::size_t element_bytes = tensor.type == "F32" ? 4 : 2;
    Buffer piece(std::min(kPieceBytes, out.size() * element_bytes));
    for (std::size_t done = 0; done < out.size();) {
        const auto part =
            out.subspan(done, std::min(out.size() - done, kPieceBytes / element_bytes));
        const auto bytes = std::span{piece}.first(part.size() * element_bytes);
        read_bytes(tensor, done * element_bytes, bytes);
        if (tensor.type == "F32") widen<float>(bytes, part);
        if (tensor.type == "F16") widen<kernels::Half>(bytes, part);
        if (tensor.type == "BF16") widen<kernels::Bfloat16>(bytes, part);
        if (!std::ranges::all_of(part, [](float x) { return std::isfinite(x); })) {
            throw InputError(fmt::format("{}: the tensor {} has a value that is not finite", name_,
                                         tensor.name));
        }
        done += part.size();
    }
}

}  // namespace dedloc::huggingface
