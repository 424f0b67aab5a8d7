// The constructor opens the first of four forms that is there; if none is, refuse_folder() looks
// for files of other programs and says which one it found. An index is read whole, and all its
// names are checked, before any shard is opened. The places of all tensors go into one list, which
// is sorted by name at the end: equal names are then neighbours, and a look-up is a binary search.
#include "project_server/huggingface/model_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "project_server/huggingface/safetensors.hpp"
#include "project_server/huggingface/torch_file.hpp"

namespace dedloc::huggingface {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIndexBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxShards = 1'024;
constexpr std::size_t kMaxNameBytes = 254;
constexpr std::array<const char*, 4> kForms{"model.safetensors", "model.safetensors.index.json",
                                            "pytorch_model.bin", "pytorch_model.bin.index.json"};
constexpr const char* kConvert =
    "load it with transformers where that is installed, and save it again with save_pretrained()";

/// Forms of other programs, and whose they are.
constexpr std::array<std::pair<const char*, const char*>, 4> kForeign{
    {{"tf_model.h5", "TensorFlow's"},
     {"flax_model.msgpack", "Flax's"},
     {"model.ckpt-best.index", "TensorFlow's"},
     {"adapter_model.safetensors", "an adapter's, not a whole model's"}}};

std::unique_ptr<const TensorFile> open(const fs::path& path) {
    if (path.extension() == ".safetensors") return std::make_unique<SafetensorsFile>(path);
    return std::make_unique<TorchFile>(path);
}

[[noreturn]] void refuse_folder(const fs::path& folder) {
    for (const auto& [file, whose] : kForeign) {
        if (!fs::exists(folder / file)) continue;
        throw InputError(
            fmt::format("{} has only {}, which is {}: {}", folder.string(), file, whose, kConvert));
    }
    for (const auto& entry : fs::directory_iterator{folder}) {
        const auto kind = entry.path().extension();
        if (kind != ".safetensors" && kind != ".bin" && kind != ".gguf" && kind != ".onnx")
            continue;
        throw InputError(
            fmt::format("{} has the file {}, but no model.safetensors or pytorch_model.bin, nor an "
                        "index of one: {}",
                        folder.string(), entry.path().filename().string(), kConvert));
    }
    throw InputError(fmt::format(
        "{} is not a Hugging Face model: it has no model.safetensors or pytorch_model.bin, nor an "
        "index of one",
        folder.string()));
}

/// The name with the prefix that the encoder's tensors have in AlbertForPreTraining.
std::string with_prefix(const std::string& name) {
    for (const char* const part : {"embeddings.", "encoder.", "pooler."}) {
        if (name.starts_with(part)) return "albert." + name;
    }
    return name;
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Whether a name from an index is one of a file in the same folder.
bool is_plain_name(const std::string& file) {
    return !file.empty() && file.size() <= kMaxNameBytes && file != "." && file != ".." &&
           file.find('/') == std::string::npos && std::ranges::none_of(file, is_control);
}

/// A name for a message.
std::string shown(std::string name) {
    if (name.size() > kMaxNameBytes) name = "a name that is too long";
    std::ranges::replace_if(name, is_control, '?');
    return name;
}

/// "weight_map" of an index: names of files, with the tensors that they have.
std::map<std::string, std::set<std::string>> read_index(const fs::path& index) {
    const std::string document = index.string();
    const auto parsed =
        formats::parse_json(document, platform::read_text(index, kMaxIndexBytes), kMaxIndexBytes);
    formats::JsonFields fields{parsed, "", document};
    const auto found = parsed.FindMember("weight_map");
    if (found == parsed.MemberEnd() || !found->value.IsObject()) {
        fields.refuse("weight_map", "must be an object");
    }
    std::map<std::string, std::set<std::string>> shards;
    for (const auto& item : found->value.GetObject()) {
        const std::string tensor{item.name.GetString(), item.name.GetStringLength()};
        if (!item.value.IsString()) fields.refuse("weight_map", "must contain names of files");
        const std::string file{item.value.GetString(), item.value.GetStringLength()};
        if (!is_plain_name(file)) {
            fields.refuse("weight_map",
                          fmt::format("names '{}', which is no file of this folder", shown(file)));
        }
        if (!shards[file].insert(tensor).second) {
            fields.refuse("weight_map", fmt::format("has '{}' twice", shown(tensor)));
        }
        if (shards.size() > kMaxShards) fields.refuse("weight_map", "names too many files");
    }
    if (shards.empty()) fields.refuse("weight_map", "is empty");
    return shards;
}

}  // namespace

ModelWeights::ModelWeights(const fs::path& folder) {
    const auto* const form = std::ranges::find_if(
        kForms, [&](const char* file) { return fs::is_regular_file(folder / file); });
    if (form == kForms.end()) refuse_folder(folder);
    const fs::path path = folder / *form;
    name_ = path.string();
    if (path.extension() == ".json") {
        add_shards(path);
    } else {
        add(open(path));
    }
    std::ranges::sort(places_, {}, &Place::name);
    const auto twice = std::ranges::adjacent_find(places_, {}, &Place::name);
    if (twice != places_.end()) {
        throw InputError(fmt::format("{} has the tensor {} twice", name_, twice->name));
    }
}

void ModelWeights::add(std::unique_ptr<const TensorFile> file) {
    for (const StoredTensor& tensor : file->tensors()) {
        places_.push_back(
            {.name = with_prefix(tensor.name), .file = file.get(), .tensor = &tensor});
    }
    files_.push_back(std::move(file));
}

void ModelWeights::add_shards(const fs::path& index) {
    for (const auto& [file, tensors] : read_index(index)) {
        const fs::path path = index.parent_path() / file;
        if (!fs::is_regular_file(path)) {
            throw InputError(
                fmt::format("{} names the file {}, which is absent: fetch it too", name_, file));
        }
        auto shard = open(path);
        for (const std::string& tensor : tensors) {
            if (shard->find(tensor) != nullptr) continue;
            throw InputError(fmt::format("{} lacks the tensor {} that {} says it has",
                                         path.string(), tensor, name_));
        }
        add(std::move(shard));
    }
}

std::vector<std::string> ModelWeights::names() const {
    std::vector<std::string> names;
    for (const Place& place : places_) names.push_back(place.name);
    return names;
}

const ModelWeights::Place* ModelWeights::place_of(std::string_view name) const {
    const auto found = std::ranges::lower_bound(places_, name, {}, &Place::name);
    return found == places_.end() || found->name != name ? nullptr : &*found;
}

const StoredTensor* ModelWeights::find(std::string_view name) const {
    const Place* const place = place_of(name);
    return place == nullptr ? nullptr : place->tensor;
}

void ModelWeights::read(std::string_view name, std::span<float> out) const {
    const Place* const place = place_of(name);
    DEDLOC_CHECK(place != nullptr, "a tensor that is read is there");
    place->file->read(*place->tensor, out);
}

}  // namespace dedloc::huggingface
