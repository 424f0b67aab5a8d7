// Ranges here only keep numbers representable and allocations small. What a module may be, the
// trainer says that loads it.
#include "peer/formats/module_fields.hpp"

#include <algorithm>
#include <array>

#include "peer/base/text.hpp"

namespace dedloc::formats {
namespace {

constexpr std::size_t kMaxModuleName = 254;
constexpr std::uint64_t kMaxModuleVocabulary = 65'536;  // token ids in shards have 16 bits
constexpr std::uint64_t kMaxSampleMemory = std::uint64_t{1} << 40;
constexpr double kMaxModuleFlops = 1e30;
constexpr std::array kTypes{ElementType::kFloat32, ElementType::kInt64, ElementType::kUint8};

SampleTensor read_input(JsonFields& fields) {
    const std::string name = fields.text("type", kMaxModuleName);
    const auto type = std::ranges::find_if(
        kTypes, [&name](ElementType candidate) { return name == name_of(candidate); });
    if (type == kTypes.end()) fields.refuse("type", "must be 'float32', 'int64' or 'uint8'");
    SampleTensor input{.type = *type, .shape = {}};
    std::uint64_t bytes = size_of(input.type);
    for (const auto& extent : fields.array("shape", 0, kMaxSampleExtents).GetArray()) {
        if (!extent.IsUint64() || extent.GetUint64() == 0) {
            fields.refuse("shape", "must contain whole numbers of at least 1");
        }
        if (extent.GetUint64() > kMaxSampleBytes / bytes) fields.refuse("shape", "is too large");
        bytes *= extent.GetUint64();
        input.shape.push_back(extent.GetUint64());
    }
    fields.finish();
    return input;
}

}  // namespace

const char* name_of(ElementType type) {
    switch (type) {
        case ElementType::kFloat32:
            return "float32";
        case ElementType::kInt64:
            return "int64";
        case ElementType::kUint8:
            break;
    }
    return "uint8";
}

std::vector<SampleTensor> read_inputs(JsonFields& fields) {
    std::vector<SampleTensor> inputs;
    for (JsonFields& input : fields.objects("inputs", 1, kMaxSampleTensors)) {
        inputs.push_back(read_input(input));
    }
    return inputs;
}

ModuleSpec read_module(JsonFields& fields) {
    ModuleSpec model;
    model.name = fields.text("file", kMaxModuleName);
    if (!is_made_of_letters(model.name, "-._") || model.name.front() == '.') {
        fields.refuse("file", "must be a file name of letters, digits, '-', '_' and '.'");
    }
    fields.hex("digest", model.digest.bytes);
    model.bytes = fields.integer("bytes", 1, kMaxModuleBytes);
    if (fields.has("vocabulary")) {
        model.vocabulary = fields.integer("vocabulary", 6, kMaxModuleVocabulary);
    } else if (fields.has("picture_side")) {
        model.picture_side = fields.integer("picture_side", 1, kMaxPictureSide);
        model.inputs = picture_inputs(model.picture_side);
    } else {
        model.inputs = read_inputs(fields);
    }
    model.flops = fields.number("flops", 1, kMaxModuleFlops);
    model.sample_bytes = fields.integer("sample_bytes", 1, kMaxSampleMemory);
    return model;
}

}  // namespace dedloc::formats
