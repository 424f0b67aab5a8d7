// A note of an ELF file is a header, a name and a descriptor, both padded to four bytes. The
// descriptor of the ABI tag has four words: 0 for Linux, then the three parts of the version.
#include "project_server/publishing/kernel_version.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace dedloc::server {
namespace {

using namespace std::string_view_literals;

constexpr std::int64_t kHighest = 999;
constexpr std::string_view kGnu = "GNU\0"sv;  // the zero byte counts

std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0 || number > kHighest) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// A structure of the file at `offset`; nothing if the text ends before it.
template <class T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file.data() + offset, sizeof(T));
    return value;
}

std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 3) / 4 * 4;
}

std::optional<KernelVersion> tag_in(std::string_view notes) {
    while (const auto header = read_at<Elf64_Nhdr>(notes, 0)) {
        const std::uint64_t descriptor = sizeof(*header) + padded(header->n_namesz);
        const std::uint64_t end = descriptor + padded(header->n_descsz);
        if (end > notes.size()) return std::nullopt;
        const auto tag = read_at<std::array<std::uint32_t, 4>>(notes, descriptor);
        const bool is_gnu = notes.substr(sizeof(*header), header->n_namesz) == kGnu;
        if (is_gnu && header->n_type == NT_GNU_ABI_TAG && header->n_descsz == sizeof(*tag) && tag &&
            (*tag)[0] == ELF_NOTE_OS_LINUX && (*tag)[1] <= kHighest && (*tag)[2] <= kHighest) {
            return KernelVersion{(*tag)[1], (*tag)[2]};
        }
        notes.remove_prefix(end);
    }
    return std::nullopt;
}

}  // namespace

std::string KernelVersion::text() const {
    return fmt::format("{}.{}", major, minor);
}

std::optional<KernelVersion> kernel_of_host(std::string_view os_version) {
    const auto mark = os_version.rfind('[');
    if (mark == std::string_view::npos) return std::nullopt;
    std::string_view text = os_version.substr(mark + 1);
    const auto major = take_number(text);
    if (!major || !text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
    const auto minor = take_number(text);
    if (!minor) return std::nullopt;
    return KernelVersion{*major, *minor};
}

std::optional<KernelVersion> needed_kernel(std::string_view begin) {
    const auto header = read_at<Elf64_Ehdr>(begin, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64) {
        return std::nullopt;
    }
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
        const auto segment = read_at<Elf64_Phdr>(begin, header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment) return std::nullopt;
        if (segment->p_type != PT_NOTE || segment->p_offset > begin.size()) continue;
        const auto tag = tag_in(begin.substr(segment->p_offset, segment->p_filesz));
        if (tag) return tag;
    }
    return std::nullopt;
}

}  // namespace dedloc::server
