// Both directions stream through libarchive (tar in zstd) and hash the contents as they pass, so no
// file is in memory. The writer keeps the digests and writes them as the last file, with a digest
// of all names and permissions; then it syncs. The reader collects its own digests and compares
// them when it meets that last file, so contents that it has extracted are proven only once next()
// has returned nothing. A source file's size is fixed when it is opened: what is appended later is
// not read, and a file that becomes shorter is an error.
#include "project_server/project/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/sha256.hpp"
#include "peer/platform/file_writer.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;
using Modes = std::map<std::string, mode_t>;  // permissions by name

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxDigestsBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxNameBytes = 4'096;
/// Begins the line about names and permissions; a comment for `sha256sum -c`.
constexpr std::string_view kEntriesMark = "# entries ";

/// Digest of the names and permissions of all files. Names longer than 100 bytes or not in ASCII
/// are in tar records without a checksum, and zstd may store a name once for both of its places,
/// there and in the digests, so one changed byte may change both.
std::string digest_of_entries(const Modes& modes) {
    Sha256 digest;
    for (const auto& [name, mode] : modes) {
        digest.update(bytes_of(fmt::format("{:o} {}\n", mode, name)));
    }
    return digest.hex();
}

struct FreeEntry {
    void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using Entry = std::unique_ptr<archive_entry, FreeEntry>;
struct FreeWriter {
    void operator()(archive* writer) const { archive_write_free(writer); }
};
struct FreeReader {
    void operator()(archive* reader) const { archive_read_free(reader); }
};

bool is_safe(const std::string& name) {
    if (name.empty() || name.size() > kMaxNameBytes || name.front() == '/') return false;
    if (name.find('\n') != std::string::npos || name.find('\\') != std::string::npos) return false;
    const fs::path path{name};
    // As text: paths are equal if they only differ in the number of slashes.
    return path.lexically_normal().string() == name && path.has_filename() &&
           std::ranges::none_of(path,
                                [](const fs::path& part) { return part == "." || part == ".."; });
}

}  // namespace

struct ArchiveWriter::State {
    State(fs::path path, std::time_t now, ArchiveProgress report)
        : file(std::move(path)),
          time(now),
          progress(std::move(report)),
          descriptor(
              platform::open_to("write", file, O_WRONLY | O_CREAT | O_EXCL, platform::kSecretFile)),
          archive(archive_write_new()) {
        check(archive_write_set_format_pax_restricted(archive.get()));
        check(archive_write_add_filter_zstd(archive.get()));
        check(archive_write_open_fd(archive.get(), descriptor.id()));
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void check(int status) const {
        if (status >= ARCHIVE_WARN) return;
        const int reason = archive_errno(archive.get());
        if (reason > 0) platform::fail("write", file, reason);
        throw IoError(
            fmt::format("cannot write {}: {}", file.string(), archive_error_string(archive.get())));
    }
    void begin(const std::string& name, std::uint64_t bytes, mode_t mode, std::time_t modified) {
        modes[name] = mode;
        const Entry entry{archive_entry_new()};
        archive_entry_set_pathname(entry.get(), name.c_str());
        archive_entry_set_filetype(entry.get(), AE_IFREG);
        archive_entry_set_perm(entry.get(), mode);
        archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
        archive_entry_set_mtime(entry.get(), modified, 0);
        check(archive_write_header(archive.get(), entry.get()));
    }
    void write(std::string_view bytes) const {
        if (archive_write_data(archive.get(), bytes.data(), bytes.size()) !=
            static_cast<la_ssize_t>(bytes.size())) {
            check(ARCHIVE_FATAL);
        }
    }
    void note(const std::string& digest, const std::string& name) {
        digests += fmt::format("{}  {}\n", digest, name);
        ++files;
    }

    const fs::path file;
    const std::time_t time;  ///< modification time of the texts
    const ArchiveProgress progress;
    const platform::Descriptor descriptor;
    const std::unique_ptr<struct archive, FreeWriter> archive;
    std::string digests;
    Modes modes;
    std::uint64_t files = 0;
};

ArchiveWriter::ArchiveWriter(fs::path file, std::time_t time, ArchiveProgress progress)
    : state_(std::make_unique<State>(std::move(file), time, std::move(progress))) {}
ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::add_text(const std::string& name, std::string_view text) {
    state_->begin(name, text.size(), platform::kSecretFile, state_->time);
    state_->write(text);
    Sha256 digest;
    digest.update(bytes_of(text));
    state_->note(digest.hex(), name);
}

bool ArchiveWriter::add_file(const std::string& name, const fs::path& source, std::uint64_t limit) {
    if (!is_safe(name)) {
        throw IoError(
            fmt::format("the file {} has a name that cannot be backed up", source.string()));
    }
    const platform::Descriptor input = platform::try_open(source, O_RDONLY);
    if (!input && errno == ENOENT) return false;
    struct stat facts {};
    if (!input || fstat(input.id(), &facts) != 0) platform::fail("read", source, errno);
    auto left = std::min(static_cast<std::uint64_t>(facts.st_size), limit);
    state_->begin(name, left, facts.st_mode & 0777U, facts.st_mtime);
    Sha256 digest;
    std::vector<char> buffer(kBufferBytes);
    while (left > 0) {
        const ssize_t count =
            read(input.id(), buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) platform::fail("read", source, errno);
        if (count == 0) {
            throw IoError(fmt::format("cannot read {}: it became shorter", source.string()));
        }
        const std::string_view bytes{buffer.data(), static_cast<std::size_t>(count)};
        digest.update(bytes_of(bytes));
        state_->write(bytes);
        left -= bytes.size();
        state_->progress(bytes.size());
    }
    state_->note(digest.hex(), name);
    return true;
}

void ArchiveWriter::finish() {
    state_->digests += fmt::format("{}{}\n", kEntriesMark, digest_of_entries(state_->modes));
    state_->begin(kDigestsName, state_->digests.size(), platform::kSecretFile, state_->time);
    state_->write(state_->digests);
    state_->check(archive_write_close(state_->archive.get()));
    if (fsync(state_->descriptor.id()) != 0) platform::fail("write", state_->file, errno);
}

std::uint64_t ArchiveWriter::files() const {
    return state_->files;
}

struct ArchiveReader::State {
    State(fs::path path, ArchiveProgress report)
        : file(std::move(path)), progress(std::move(report)), archive(archive_read_new()) {
        if (!fs::is_regular_file(file)) {
            throw InputError(fmt::format("there is no file {}", file.string()));
        }
        check(archive_read_support_filter_zstd(archive.get()));
        check(archive_read_support_format_tar(archive.get()));
        check(archive_read_open_filename(archive.get(), file.c_str(), kBufferBytes));
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(fmt::format("the backup {} {}", file.string(), what));
    }
    void check(int status) const {
        if (status >= ARCHIVE_WARN) return;
        const char* const reason = archive_error_string(archive.get());
        refuse(fmt::format("is damaged, or no backup: {}",
                           reason != nullptr ? reason : "it cannot be read"));
    }
    /// Passes the contents of the present file to `take` and notes their digest.
    template <class Take>
    void read(const Take& take) {
        Sha256 digest;
        for (;;) {
            const la_ssize_t count = archive_read_data(archive.get(), buffer.data(), buffer.size());
            if (count < 0) check(ARCHIVE_FATAL);
            if (count == 0) break;
            const std::string_view bytes{buffer.data(), static_cast<std::size_t>(count)};
            digest.update(bytes_of(bytes));
            take(bytes);
            progress(bytes.size());
        }
        digests[name] = digest.hex();
        is_open = false;
    }
    std::string read_text(std::size_t limit) {
        std::string text;
        read([&](std::string_view bytes) {
            if (text.size() + bytes.size() > limit) refuse(fmt::format("has a too long {}", name));
            text += bytes;
        });
        return text;
    }
    void compare_digests() {
        const auto found = digests;
        std::size_t lines = 0;
        const std::string text = read_text(kMaxDigestsBytes);
        for (std::size_t at = 0; at < text.size();) {
            const auto end = text.find('\n', at);
            const std::string line = text.substr(at, end - at);
            at = end == std::string::npos ? text.size() : end + 1;
            if (line.starts_with(kEntriesMark)) {
                if (line.substr(kEntriesMark.size()) != digest_of_entries(modes)) {
                    refuse("is damaged: names or permissions of its files have another digest");
                }
                continue;
            }
            ++lines;
            const auto gap = line.find("  ");
            const auto known =
                gap == std::string::npos ? found.end() : found.find(line.substr(gap + 2));
            if (known == found.end()) refuse(fmt::format("lacks a file that {} names", name));
            if (known->second != line.substr(0, gap)) {
                refuse(fmt::format("is damaged: {} has another digest", known->first));
            }
        }
        if (lines != found.size()) refuse(fmt::format("has a file that {} does not name", name));
    }

    const fs::path file;
    const ArchiveProgress progress;
    const std::unique_ptr<struct archive, FreeReader> archive;
    std::vector<char> buffer = std::vector<char>(kBufferBytes);
    std::map<std::string, std::string> digests;  ///< keys are names
    Modes modes;                                 ///< permissions of the files that came so far
    std::string name;                            ///< the present file's
    bool is_open = false;                        ///< the present file has not been read yet
};

ArchiveReader::ArchiveReader(fs::path file, ArchiveProgress progress)
    : state_(std::make_unique<State>(std::move(file), std::move(progress))) {}
ArchiveReader::~ArchiveReader() = default;

std::optional<ArchiveEntry> ArchiveReader::next() {
    if (state_->is_open) state_->refuse(fmt::format("has an unknown file {}", state_->name));
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(state_->archive.get(), &entry);
    if (status == ARCHIVE_EOF) state_->refuse("is incomplete");
    state_->check(status);
    const char* const name = archive_entry_pathname(entry);
    state_->name = name != nullptr ? name : "";
    state_->is_open = true;
    if (!is_safe(state_->name)) state_->refuse("has a file with an unsafe name");
    // A sparse file of a few bytes has contents without end.
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr ||
        archive_entry_sparse_count(entry) > 0) {
        state_->refuse(fmt::format("has {}, which is no regular file", state_->name));
    }
    if (state_->digests.contains(state_->name)) {
        state_->refuse(fmt::format("has {} twice", state_->name));
    }
    if (state_->name == kDigestsName) {
        state_->compare_digests();
        return std::nullopt;
    }
    const mode_t mode = archive_entry_perm(entry);
    state_->modes[state_->name] = mode;
    return ArchiveEntry{.name = state_->name,
                        .bytes = static_cast<std::uint64_t>(archive_entry_size(entry)),
                        .mode = mode};
}

std::string ArchiveReader::read_text(std::size_t limit) {
    return state_->read_text(limit);
}

void ArchiveReader::extract(const fs::path& target, mode_t mode) {
    platform::FileWriter writer{target, mode};
    state_->read([&](std::string_view bytes) { writer.write(std::as_bytes(std::span{bytes})); });
    writer.finish();
}

}  // namespace dedloc::project
