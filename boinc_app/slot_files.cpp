#include "boinc_app/slot_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "peer/base/error.hpp"

namespace dedloc {
namespace {

constexpr std::size_t kMaxJournalBytes = std::size_t{64} << 20;

[[noreturn]] void fail(const std::filesystem::path& path, const char* wish) {
    throw IoError{fmt::format("{} could not be {}: {}", path.string(), wish, std::strerror(errno))};
}

/// An open file descriptor that closes itself.
class Descriptor {
  public:
    Descriptor(const std::filesystem::path& path, int flags, mode_t mode = 0)
        : value_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    bool is_open() const { return value_ >= 0; }
    int value() const { return value_; }

  private:
    const int value_;
};

bool write_all(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

std::string line_of(StepIndex step, Samples samples) {
    return fmt::format("{} {}\n", step.value(), samples.value());
}

/// One "step samples" line, or nothing.
bool parse_line(std::string_view line, std::uint64_t& step, std::uint64_t& samples) {
    const char* const end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, step);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ' ') return false;
    const auto second = std::from_chars(first.ptr + 1, end, samples);
    return second.ec == std::errc{} && second.ptr == end;
}

}  // namespace

Buffer read_file(const std::filesystem::path& path, std::size_t limit) {
    const Descriptor file(path, O_RDONLY);
    struct stat info {};
    if (!file.is_open() || ::fstat(file.value(), &info) != 0) fail(path, "read");
    if (static_cast<std::uint64_t>(info.st_size) > limit) {
        throw IoError{fmt::format("{} has {} bytes; at most {} are read", path.string(),
                                  info.st_size, limit)};
    }
    Buffer bytes(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::read(file.value(), bytes.data() + done, bytes.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(path, "read");
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

void replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                  bool is_secret) {
    std::filesystem::path temporary = path;
    temporary += ".new";
    {
        const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC, is_secret ? 0600 : 0644);
        const bool is_written =
            file.is_open() && write_all(file.value(), bytes) && ::fsync(file.value()) == 0;
        if (!is_written) fail(temporary, "written");
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "written");
}

KeyPair key_in(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) {
        const KeyPair key = KeyPair::generate();
        replace_file(path, key.seed(), /*is_secret=*/true);
        return key;
    }
    const Buffer bytes = read_file(path, 4'096);
    if (bytes.size() != 32) {
        throw InputError{fmt::format("{} does not hold a key of 32 bytes", path.string())};
    }
    return KeyPair::from_seed(std::span<const std::byte, 32>{bytes.data(), 32});
}

ReceiptJournal::ReceiptJournal(std::filesystem::path path, const RunId& run, const PeerKey& peer)
    : path_(std::move(path)),
      head_(fmt::format("dedloc receipt journal 1 run {} peer {}\n", run.hex(), peer.hex())) {
    if (std::filesystem::exists(path_)) {
        read();
    } else {
        replace_file(path_, bytes_of(head_));
    }
    open();
}

void ReceiptJournal::open() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor_ < 0) fail(path_, "opened");
}

ReceiptJournal::~ReceiptJournal() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void ReceiptJournal::read() {
    const Buffer bytes = read_file(path_, kMaxJournalBytes);
    std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    if (!text.starts_with(head_)) {
        throw InputError{fmt::format("{} is not about this run and key", path_.string())};
    }
    std::size_t whole = head_.size();
    while (whole < text.size()) {
        const std::size_t end = text.find('\n', whole);
        if (end == std::string_view::npos) break;
        std::uint64_t step = 0;
        std::uint64_t samples = 0;
        if (!parse_line(text.substr(whole, end - whole), step, samples)) {
            throw InputError{fmt::format("{} has a bad line at byte {}", path_.string(), whole)};
        }
        lines_[StepIndex{step}] = Samples{samples};
        whole = end + 1;
    }
    if (whole < text.size()) std::filesystem::resize_file(path_, whole);
}

void ReceiptJournal::append(StepIndex step, Samples samples) {
    const std::string line = line_of(step, samples);
    const bool is_on_disk = write_all(descriptor_, bytes_of(line)) && ::fdatasync(descriptor_) == 0;
    if (!is_on_disk) fail(path_, "extended");
    lines_[step] = samples;
}

void ReceiptJournal::rewind(StepIndex step) {
    if (lines_.lower_bound(step) == lines_.end()) return;
    lines_.erase(lines_.lower_bound(step), lines_.end());
    std::string text = head_;
    for (const auto& [kept, samples] : lines_) text += line_of(kept, samples);
    replace_file(path_, bytes_of(text));
    open();
}

std::vector<wire::ReceiptLine> ReceiptJournal::lines() const {
    std::vector<wire::ReceiptLine> lines;
    for (const auto& [step, samples] : lines_) lines.push_back({step, samples});
    return lines;
}

Samples ReceiptJournal::samples() const {
    Samples sum;
    for (const auto& [step, samples] : lines_) sum += samples;
    return sum;
}

}  // namespace dedloc
