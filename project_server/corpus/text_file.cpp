// The first line is preceded by a look at the first bytes, so that UTF-16 and compressed files get
// a sentence that helps. Lines are searched in blocks of 1 MiB. A piece that reaches the limit is
// cut after a blank near its end, else before its last character, and the rest is carried to the
// next piece. Each piece is checked as UTF-8, eight bytes at a time while they are ASCII. The
// offset counts bytes of the file before byte order mark and carriage return are removed, so
// reading can resume there.
#include "project_server/corpus/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::corpus {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kCutSearchBytes = 4'096;  // white space is looked for in so many last bytes
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Whether 8 bytes are all ASCII and none is NUL.
bool is_plain_word(const char* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    constexpr std::uint64_t kHighBits = 0x8080808080808080u;
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    return ((word | (word - kOnes)) & kHighBits) == 0;
}

}  // namespace

std::optional<std::size_t> find_invalid_text(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (at + 8 <= text.size() && is_plain_word(text.data() + at)) {
            at += 8;
            continue;
        }
        const std::size_t length = utf8_length(text.substr(at));
        if (length == 0 || text[at] == '\0') return at;
        at += length;
    }
    return {};
}

TextFile::TextFile(std::filesystem::path path, std::uint64_t offset, std::size_t limit)
    : path_(std::move(path)),
      limit_(limit),
      descriptor_(platform::try_open(path_, O_RDONLY)),
      offset_(offset) {
    DEDLOC_CHECK(limit > kCutSearchBytes, "a piece is longer than the search for white space");
    struct stat status {};
    if (!descriptor_) {
        throw InputError(
            fmt::format("cannot read the text {}: {}", path_.string(), std::strerror(errno)));
    }
    if (::fstat(descriptor_.id(), &status) != 0 || !S_ISREG(status.st_mode) ||
        ::lseek(descriptor_.id(), static_cast<off_t>(offset), SEEK_SET) < 0) {
        throw InputError(
            fmt::format("cannot read the text {}: it is not a regular file", path_.string()));
    }
}

/// Reads a block. False at the end of the file.
bool TextFile::fill() {
    block_.resize(kBlockBytes);
    at_ = 0;
    ssize_t got = -1;
    do {
        got = ::read(descriptor_.id(), block_.data(), block_.size());
    } while (got < 0 && errno == EINTR);
    block_.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) platform::fail("read the text", path_, errno);
    return got > 0;
}

/// Appends bytes up to the line end, the limit or the end of the file. True if there was a line
/// end, which is consumed.
bool TextFile::take_line(std::string& line) {
    while (line.size() < limit_ && (at_ < block_.size() || fill())) {
        const std::size_t max = std::min(block_.size() - at_, limit_ - line.size());
        const char* const from = block_.data() + at_;
        const auto* const newline = static_cast<const char*>(std::memchr(from, '\n', max));
        const std::size_t length =
            newline == nullptr ? max : static_cast<std::size_t>(newline - from);
        line.append(from, length);
        at_ += length;
        if (newline == nullptr) continue;
        ++at_;
        return true;
    }
    return false;
}

/// Shortens a piece that has reached the limit: carries its end over to the next piece.
void TextFile::cut(std::string& line) {
    std::size_t end = line.size();
    while (end > line.size() - kCutSearchBytes && line[end - 1] != ' ') --end;
    if (line[end - 1] != ' ') {
        end = line.size();
        // The last character may be incomplete. No more than 3 bytes, or the text is invalid.
        for (int i = 0; i < 3 && is_continuation(line[end - 1]); ++i) --end;
        --end;
    }
    carried_ = line.substr(end);
    line.resize(end);
}

/// What the file is instead of text by its first bytes, and how it becomes text; empty: text.
std::string TextFile::form() const {
    constexpr std::size_t kBytes = 16;
    std::array<char, kBytes> bytes{};
    const ssize_t got = ::pread(descriptor_.id(), bytes.data(), bytes.size(), 0);
    const std::string_view head{bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    const auto utf16 = [](const char* name) {
        return fmt::format("{0}: iconv -f {0} -t UTF-8", name);
    };
    // Two ASCII characters without a byte order mark have a NUL each.
    const bool is_little =
        head.size() > 3 && head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0;
    const bool is_big =
        head.size() > 3 && head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0;
    if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return utf16("UTF-16");
    if (is_little) return utf16("UTF-16LE");
    if (is_big) return utf16("UTF-16BE");
    static constexpr std::array<std::pair<std::string_view, const char*>, 6> kForms{
        {{"\x1F\x8B", "compressed: gunzip"},
         {"\x28\xB5\x2F\xFD", "compressed: unzstd"},
         {"\xFD"
          "7zXZ",
          "compressed: unxz"},
         {"BZh91AY&SY", "compressed: bunzip2"},
         {"PK\x03\x04", "an archive: unzip"},
         {"%PDF-", "a PDF: pdftotext"}}};
    for (const auto& [begin, what] : kForms) {
        if (head.starts_with(begin)) return what;
    }
    return {};
}

bool TextFile::next(std::string& line) {
    if (offset_ == 0) {
        const std::string other = form();
        if (!other.empty()) {
            throw InputError(fmt::format("{} is not UTF-8 text, but {}", path_.string(), other));
        }
    }
    line = std::move(carried_);
    carried_.clear();
    const bool has_end = take_line(line);
    if (!has_end && line.empty()) return false;
    is_cut_ = !has_end && line.size() >= limit_;
    if (is_cut_) cut(line);
    if (const auto bad = find_invalid_text(line)) {
        const auto byte = static_cast<unsigned char>(line[*bad]);
        throw InputError(fmt::format("{} is not UTF-8 text: it has the byte 0x{:02X} at offset {}",
                                     path_.string(), byte, offset_ + *bad));
    }
    const bool is_marked = offset_ == 0 && line.starts_with(kByteOrderMark);
    offset_ += line.size() + (has_end ? 1 : 0);
    if (is_marked) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    return true;
}

}  // namespace dedloc::corpus
