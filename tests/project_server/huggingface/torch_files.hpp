// Files as torch.save() writes them, byte by byte, of tensors of fp32.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace dedloc::huggingface {

/// One tensor with a storage of its own.
struct TorchTensor {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::vector<float> values;
};

template <class T>
std::string raw_bytes(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
inline std::string pickle_text(const std::string& text) {
    return "X" + raw_bytes(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string pickle_number(std::uint64_t number) {
    return "J" + raw_bytes(static_cast<std::int32_t>(number));
}
inline std::string pickle_tuple(const std::vector<std::uint64_t>& numbers) {
    std::string text = "(";
    for (const auto number : numbers) text += pickle_number(number);
    return text + "t";
}

/// The pickle of an OrderedDict of tensors. A storage of the old format has one more field.
inline std::string pickle_tensors(const std::vector<TorchTensor>& tensors, bool is_old = false,
                                  const std::string& storage = "FloatStorage") {
    std::string text =
        "\x80\x02"
        "ccollections\nOrderedDict\nq\x01)Rq\x02(";
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::vector<std::uint64_t> strides(tensors[i].shape.size(), 1);
        for (std::size_t d = strides.size(); d-- > 1;) {
            strides[d - 1] = strides[d] * tensors[i].shape[d];
        }
        text += pickle_text(tensors[i].name) + "ctorch._utils\n_rebuild_tensor_v2\n((";
        text += pickle_text("storage") + "ctorch\n" + storage + "\n";
        text += pickle_text(std::to_string(i)) + pickle_text("cpu");
        text += pickle_number(tensors[i].values.size()) + (is_old ? "N" : "") + "tQ";
        text += pickle_number(0) + pickle_tuple(tensors[i].shape) + pickle_tuple(strides);
        text += std::string{"\x89"} + "h\x01)RtR";
    }
    // The versions of the modules are an attribute of the dictionary.
    return text + "u}" + pickle_text("_metadata") + "h\x01)Rsb.";
}

/// A zip archive of these entries, not compressed.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string bytes(1 << 22, '\0');
    std::size_t used = 0;
    archive* const zip = archive_write_new();
    archive_write_set_format_zip(zip);
    archive_write_zip_set_compression_store(zip);
    archive_write_set_bytes_in_last_block(zip, 1);
    archive_write_open_memory(zip, bytes.data(), bytes.size(), &used);
    for (const auto& [name, contents] : entries) {
        archive_entry* const entry = archive_entry_new();
        archive_entry_set_pathname(entry, name.c_str());
        archive_entry_set_size(entry, static_cast<la_int64_t>(contents.size()));
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_write_header(zip, entry);
        archive_write_data(zip, contents.data(), contents.size());
        archive_entry_free(entry);
    }
    archive_write_close(zip);
    archive_write_free(zip);
    bytes.resize(used);
    return bytes;
}

inline std::string storage_bytes(const TorchTensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.values.data()),
            tensor.values.size() * sizeof(float)};
}

/// As PyTorch writes it since version 1.6.
inline std::string torch_zip(const std::vector<TorchTensor>& tensors) {
    std::vector<std::pair<std::string, std::string>> entries{
        {"pytorch_model/data.pkl", pickle_tensors(tensors)}, {"pytorch_model/byteorder", "little"}};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        entries.emplace_back("pytorch_model/data/" + std::to_string(i), storage_bytes(tensors[i]));
    }
    entries.emplace_back("pytorch_model/version", "3\n");
    return zip_of(entries);
}

/// As PyTorch wrote it before.
inline std::string torch_row(const std::vector<TorchTensor>& tensors) {
    std::string text{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15};
    text += std::string{"\x80\x02M\xe9\x03.", 6};
    text += "\x80\x02}(" + pickle_text("little_endian") + "\x88" + pickle_text("type_sizes") + "}" +
            "u.";
    text += pickle_tensors(tensors, true);
    text += "\x80\x02](";
    for (std::size_t i = 0; i < tensors.size(); ++i) text += pickle_text(std::to_string(i));
    text += "e.";
    for (const auto& tensor : tensors) {
        text += raw_bytes(std::uint64_t{tensor.values.size()}) + storage_bytes(tensor);
    }
    return text;
}

}  // namespace dedloc::huggingface
