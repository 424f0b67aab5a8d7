// The first bytes decide the form: a zip archive or a row of pickles. Each is a subclass of
// Storages, whose list() reads the tensors and whose read() finds bytes of a storage by its key.
// Archive goes through the zip's entries anew for each storage and keeps the last one. Row computes
// the places of all storages once: they follow the fifth pickle in the order of the keys, and their
// lengths are known from the tensors that use them.
#include "project_server/huggingface/torch_file.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"

namespace dedloc::huggingface {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 65'536;
constexpr std::uint64_t kMaxStorageBytes = std::uint64_t{1} << 34;
/// The number that the row of pickles begins with, little-endian.
constexpr std::string_view kMagic{"\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10};

[[noreturn]] void refuse(const std::string& name, const std::string& sentence) {
    throw InputError(fmt::format("{} {}", name, sentence));
}

struct CloseArchive {
    void operator()(archive* opened) const { archive_read_free(opened); }
};
using OpenArchive = std::unique_ptr<archive, CloseArchive>;

OpenArchive open_zip(const std::string& path) {
    OpenArchive opened{archive_read_new()};
    archive_read_support_format_zip_seekable(opened.get());
    if (archive_read_open_filename(opened.get(), path.c_str(), 65'536) != ARCHIVE_OK) {
        refuse(path, fmt::format("cannot be read: {}", archive_error_string(opened.get())));
    }
    return opened;
}

/// The next entry; null at the end.
archive_entry* next_entry(archive* opened, const std::string& path) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(opened, &entry);
    if (result == ARCHIVE_EOF) return nullptr;
    if (result != ARCHIVE_OK) {
        refuse(path, fmt::format("is damaged: {}", archive_error_string(opened)));
    }
    return entry;
}

/// Reads an entry of at most `limit` bytes.
Buffer read_entry(archive* opened, const std::string& path, std::uint64_t limit) {
    Buffer bytes;
    Buffer piece(std::size_t{1} << 20);
    while (true) {
        const auto got = archive_read_data(opened, piece.data(), piece.size());
        if (got < 0) refuse(path, fmt::format("is damaged: {}", archive_error_string(opened)));
        if (got == 0) return bytes;
        if (static_cast<std::uint64_t>(got) > limit - bytes.size()) {
            refuse(path, "has a part that is larger than it says");
        }
        bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
    }
}

/// The part of an entry's name after the archive's own folder.
std::string_view inner_name(const char* name) {
    const std::string_view whole = name == nullptr ? "" : name;
    const auto slash = whole.find('/');
    return slash == std::string_view::npos ? std::string_view{} : whole.substr(slash + 1);
}

}  // namespace

/// The storages of a file: finds the bytes of each by its key.
class TorchFile::Storages {
  public:
    virtual ~Storages() = default;
    /// Reads a part of a storage of `size` bytes. Errors: InputError: it is absent or shorter.
    virtual void read(const std::string& key, std::uint64_t size, std::uint64_t offset,
                      std::span<std::byte> out) const = 0;
};

/// Entries of a zip archive. The last one that was read is kept, since tensors are read in pieces.
class TorchFile::Archive final : public Storages {
  public:
    explicit Archive(std::string path) : path_(std::move(path)) {}

    Pickled list() const {
        const auto opened = open_zip(path_);
        std::size_t entries = 0;
        Buffer pickle;
        while (archive_entry* const entry = next_entry(opened.get(), path_)) {
            if (++entries > kMaxEntries) refuse(path_, "has too many parts");
            const auto name = inner_name(archive_entry_pathname(entry));
            if (name == "data.pkl") pickle = read_entry(opened.get(), path_, kMaxPickleBytes);
            if (name == "constants.pkl") {
                refuse(path_, "is a TorchScript program, not the tensors of a model");
            }
            if (name == "byteorder") {
                const Buffer order = read_entry(opened.get(), path_, 16);
                if (std::ranges::equal(order, bytes_of("big"))) {
                    refuse(path_, "was saved on a big-endian computer, which is not implemented");
                }
            }
        }
        if (pickle.empty()) refuse(path_, "is a zip archive without data.pkl, not of PyTorch");
        return parse_pickle(path_, pickle);
    }

    void read(const std::string& key, std::uint64_t size, std::uint64_t offset,
              std::span<std::byte> out) const override {
        if (key != key_ || bytes_.empty()) load(key, size);
        if (bytes_.size() < size) {
            refuse(path_,
                   fmt::format("has {} bytes of the storage {}, not {}", bytes_.size(), key, size));
        }
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    }

  private:
    void load(const std::string& key, std::uint64_t size) const {
        bytes_.clear();
        key_ = key;
        const auto opened = open_zip(path_);
        while (archive_entry* const entry = next_entry(opened.get(), path_)) {
            if (inner_name(archive_entry_pathname(entry)) != "data/" + key) continue;
            bytes_ = read_entry(opened.get(), path_, size);
            return;
        }
    }

    const std::string path_;
    mutable std::string key_;
    mutable Buffer bytes_;
};

/// Pickles one after the other, then the storages, each after its number of elements.
class TorchFile::Row final : public Storages {
  public:
    explicit Row(const fs::path& path)
        : path_(path.string()), file_(path, platform::DurableFile::Mode::kRead) {}

    static bool is_magic(const Pickled& pickled) { return pickled.number == kMagic; }

    Pickled list() {
        Buffer head(
            static_cast<std::size_t>(std::min<std::uint64_t>(file_.size(), 2 * kMaxPickleBytes)));
        head.resize(file_.read_at(0, head));
        std::span<const std::byte> rest{head};
        const auto next = [&] {
            Pickled pickled = parse_pickle(path_, rest);
            rest = rest.subspan(pickled.bytes);
            return pickled;
        };
        if (!is_magic(next())) refuse(path_, "is no file of PyTorch");
        (void)next();  // the version of the format
        (void)next();  // the computer's sizes of numbers
        Pickled tensors = next();
        const Pickled keys = next();
        place_storages(tensors, keys.texts, head.size() - rest.size());
        return tensors;
    }

    void read(const std::string& key, std::uint64_t, std::uint64_t offset,
              std::span<std::byte> out) const override {
        const auto found = begins_.find(key);
        if (found == begins_.end() || file_.read_at(found->second + offset, out) < out.size()) {
            refuse(path_, fmt::format("lacks the storage {}", key));
        }
    }

  private:
    void place_storages(const Pickled& tensors, const std::vector<std::string>& keys,
                        std::uint64_t at) {
        std::map<std::string, const PickledTensor*> by_key;
        for (const auto& tensor : tensors.tensors) by_key[tensor.storage] = &tensor;
        for (const std::string& key : keys) {
            const auto tensor = by_key.find(key);
            if (tensor == by_key.end()) refuse(path_, "has a storage that no tensor uses");
            std::uint64_t count = 0;
            const std::span head{&count, 1};
            if (file_.read_at(at, std::as_writable_bytes(head)) < sizeof(count) ||
                count != tensor->second->storage_count) {
                refuse(path_, fmt::format("has a damaged storage {}", key));
            }
            begins_[key] = at + sizeof(count);
            at += sizeof(count) + count * bytes_of_type(tensor->second->type);
        }
    }

    const std::string path_;
    const platform::DurableFile file_;
    std::map<std::string, std::uint64_t> begins_;
};

TorchFile::TorchFile(const fs::path& path) : TensorFile(path.string()) {
    const platform::DurableFile file{path, platform::DurableFile::Mode::kRead};
    std::array<std::byte, 4> head{};
    const std::size_t got = file.read_at(0, head);
    if (got == head.size() && std::ranges::equal(head, bytes_of({"PK\x03\x04", 4}))) {
        auto archive = std::make_unique<Archive>(name());
        add_tensors(archive->list());
        storages_ = std::move(archive);
    } else if (got > 0 && head[0] == std::byte{0x80}) {
        auto row = std::make_unique<Row>(path);
        add_tensors(row->list());
        storages_ = std::move(row);
    } else {
        refuse(name(), "is no file of PyTorch");
    }
}

TorchFile::~TorchFile() = default;

void TorchFile::add_tensors(const Pickled& pickled) {
    if (pickled.tensors.empty() || !pickled.others.empty()) {
        const std::string item = pickled.others.empty() ? "" : pickled.others.front();
        refuse(name(), fmt::format("is not the tensors of a model alone: {}",
                                   item.empty() ? "it has none"
                                                : fmt::format("its item '{}' is no tensor", item)));
    }
    for (const PickledTensor& pickle : pickled.tensors) {
        StoredTensor tensor{.name = pickle.name, .type = pickle.type, .shape = pickle.shape};
        const std::uint64_t size = bytes_of_type(pickle.type);
        if (pickle.storage_count * size > kMaxStorageBytes) refuse(name(), "is too large");
        tensor.begin = pickle.offset * size;
        tensor.end = tensor.begin + tensor.count() * size;
        if (!storage_of_.emplace(tensor.name, pickle.storage).second) {
            refuse(name(), fmt::format("has the tensor {} twice", tensor.name));
        }
        tensors_.push_back(std::move(tensor));
    }
}

void TorchFile::read_bytes(const StoredTensor& tensor, std::uint64_t offset,
                           std::span<std::byte> out) const {
    storages_->read(storage_of_.at(tensor.name), tensor.end, tensor.begin + offset, out);
}

}  // namespace dedloc::huggingface
