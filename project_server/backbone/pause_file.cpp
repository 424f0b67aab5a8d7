#include "project_server/backbone/pause_file.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/config.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::size_t kMaxFileBytes = 4'096;

}  // namespace

std::uint64_t read_pause_count(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return 0;
    const std::string document = file.string();
    const auto json = formats::parse_json(document, platform::read_text(file), kMaxFileBytes);
    formats::JsonFields fields(json, "", document);
    const std::uint64_t count = fields.integer("pause_count", 0, wire::kMaxPauseCount);
    fields.finish();
    return count;
}

void write_pause_count(const std::filesystem::path& file, std::uint64_t pause_count) {
    platform::replace_file(file, fmt::format("{{\"pause_count\": {}}}\n", pause_count));
}

bool is_paused(const std::filesystem::path& file) {
    return is_paused_at(read_pause_count(file));
}

void set_paused(const std::filesystem::path& file, bool is_paused) {
    const std::uint64_t count = read_pause_count(file);
    if (is_paused_at(count) == is_paused) return;
    if (count >= wire::kMaxPauseCount) throw InputError("the run was paused too often");
    write_pause_count(file, count + 1);
}

}  // namespace dedloc::backbone
