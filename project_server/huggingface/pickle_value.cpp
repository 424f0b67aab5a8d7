// The values come from an untrusted file, so the kind and the range of every item of a tuple are
// checked before it is used. A tensor must be contiguous: a loop multiplies its extents from the
// last to the first and compares the stride of each extent above 1 with the product so far.
// Overflow is tested before each product, and the tensor's end is compared with the size of its
// storage last.
#include "project_server/huggingface/pickle_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "peer/base/error.hpp"

namespace dedloc::huggingface {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kMaxNameBytes = 254;
constexpr std::size_t kMaxExtents = 8;
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 42;

/// The types of storages, with their names in safetensors.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kStorages{
    {{"torch FloatStorage", "F32"},
     {"torch HalfStorage", "F16"},
     {"torch BFloat16Storage", "BF16"},
     {"torch DoubleStorage", "F64"},
     {"torch LongStorage", "I64"},
     {"torch IntStorage", "I32"},
     {"torch ShortStorage", "I16"},
     {"torch ByteStorage", "U8"},
     {"torch BoolStorage", "BOOL"}}};
std::vector<std::uint64_t> numbers_in(const std::string& document, const Value& tuple) {
    if (tuple.kind != Kind::kTuple || tuple.items.size() > kMaxExtents)
        refuse_damaged_pickle(document);
    std::vector<std::uint64_t> numbers;
    for (const Value& item : tuple.items) {
        if (item.kind != Kind::kNumber || item.number < 0) refuse_damaged_pickle(document);
        numbers.push_back(static_cast<std::uint64_t>(item.number));
    }
    return numbers;
}

}  // namespace

void refuse_pickle(const std::string& document, const std::string& what) {
    throw InputError(fmt::format("{}: {}", document, what));
}

void refuse_damaged_pickle(const std::string& document) {
    refuse_pickle(document, "its list of tensors is damaged");
}

std::string_view type_of_storage(std::string_view name) {
    const auto* const found =
        std::ranges::find(kStorages, name, [](const auto& row) { return row.first; });
    return found == kStorages.end() ? std::string_view{} : found->second;
}

Value storage_of(const std::string& document, const Value& id) {
    const auto& items = id.items;
    if (id.kind != Kind::kTuple || items.size() < 5 || items[0].text != "storage" ||
        items[1].kind != Kind::kGlobal || items[2].kind != Kind::kText ||
        items[4].kind != Kind::kNumber || items[4].number < 0) {
        refuse_damaged_pickle(document);
    }
    const std::string_view type = type_of_storage(items[1].text);
    if (type.empty() || items[2].text.size() > kMaxNameBytes) refuse_damaged_pickle(document);
    if (items.size() > 5 && items[5].kind != Kind::kNone) {
        refuse_pickle(document, "has views of parts of storages, which are not implemented");
    }
    Value storage{.kind = Kind::kStorage, .text = {}, .items = {}};
    storage.tensor.type = type;
    storage.tensor.storage = items[2].text;
    storage.tensor.storage_count = static_cast<std::uint64_t>(items[4].number);
    if (storage.tensor.storage_count > kMaxCount) refuse_damaged_pickle(document);
    return storage;
}

Value tensor_of(const std::string& document, const std::vector<Value>& arguments) {
    if (arguments.size() < 4 || arguments[0].kind != Kind::kStorage ||
        arguments[1].kind != Kind::kNumber || arguments[1].number < 0) {
        refuse_damaged_pickle(document);
    }
    Value value{.kind = Kind::kTensor, .text = {}, .items = {}, .tensor = arguments[0].tensor};
    PickledTensor& tensor = value.tensor;
    tensor.offset = static_cast<std::uint64_t>(arguments[1].number);
    tensor.shape = numbers_in(document, arguments[2]);
    const auto strides = numbers_in(document, arguments[3]);
    if (strides.size() != tensor.shape.size()) refuse_damaged_pickle(document);
    std::uint64_t count = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        if (tensor.shape[i] > 1 && strides[i] != count) {
            refuse_pickle(
                document,
                "has a tensor whose elements do not follow one another: call contiguous() on it "
                "before it is saved");
        }
        if (tensor.shape[i] != 0 && count > kMaxCount / tensor.shape[i])
            refuse_damaged_pickle(document);
        count *= tensor.shape[i];
    }
    if (tensor.offset > tensor.storage_count || count > tensor.storage_count - tensor.offset) {
        refuse_damaged_pickle(document);
    }
    return value;
}

}  // namespace dedloc::huggingface
