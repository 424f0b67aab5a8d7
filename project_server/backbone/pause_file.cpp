#include "project_server/backbone/pause_file.hpp"

#include <fmt/format.h>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/config.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::size_t kMaxPauseBytes = 4'096;

}  // namespace

std::optional<SignedPause> read_pause(const std::filesystem::path& file, const RunId& run,
                                      const PeerKey& project) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    const std::string document = file.string();
    const auto json = formats::parse_json(document, platform::read_text(file), kMaxPauseBytes);
    formats::JsonFields fields(json, "", document);
    SignedPause pause;
    pause.count = fields.integer("pause_count", 1, wire::kMaxPauseCount);
    const std::string signature = fields.text("signature", 2 * wire::kSignatureBytes);
    if (!from_hex(signature, pause.signature) || !is_signed(run, project, pause)) {
        fields.refuse("signature", "is not the project's for this run");
    }
    fields.finish();
    return pause;
}

void write_pause(const std::filesystem::path& file, const SignedPause& pause) {
    platform::replace_file(file, fmt::format("{{\"pause_count\": {}, \"signature\": \"{}\"}}\n",
                                             pause.count, to_hex(pause.signature)));
}

std::optional<SignedPause> next_pause(const std::optional<SignedPause>& last, bool is_paused,
                                      const RunId& run, const KeyPair& project) {
    if (backbone::is_paused(last) == is_paused) return std::nullopt;
    const std::uint64_t count = last ? last->count : 0;
    if (count >= wire::kMaxPauseCount) throw InputError("the run was paused too often");
    return sign_pause(run, count + 1, project);
}

bool is_paused(const std::optional<SignedPause>& last) {
    return last && is_paused_at(last->count);
}

}  // namespace dedloc::backbone
